// The entry: what the page calls, and what it is told. See ../cglens_replay.js.

import { decode } from "./data.mjs";
import { ReplayView } from "./view.mjs";

const WAIT_MS = 3000;
const mounted = new Map(); // host -> { view, src }
let wanted = { path: null, matches: null }; // kept for a replay that is not there yet

/** Draw the replay at `src` into the element `hostId`; safe to call again. */
export async function mount(src, hostId) {
  const host = await element(hostId);
  if (!host) return;
  drop((other) => !other.isConnected || (!host.dataset.link && other !== host));
  const here = mounted.get(host) ?? create(host);
  if (here.src === src) return;
  here.src = src;
  host.removeAttribute("data-ready");
  const stale = () => mounted.get(host) !== here || here.src !== src;
  try {
    const response = await fetch(src, { credentials: "same-origin" });
    if (!response.ok) throw new Error(await response.text());
    const replay = decode(await response.json());
    if (stale()) return;
    here.view.show(replay);
    here.view.select(wanted.path);
    here.view.match(wanted.matches);
    host.setAttribute("data-ready", replay.count);
  } catch (error) {
    if (stale()) return;
    here.src = null;
    host.setAttribute("data-error", error.message);
    console.error("The replay cannot be drawn:", error.message);
  }
}

function create(host) {
  const view = new ReplayView(host, (path) => {
    const store = host.dataset.selectStore;
    if (store) window.dash_clientside?.set_props?.(store, { data: { path, at: performance.now() } });
  });
  if (host.dataset.link) {
    view.onMove = (place) => {
      for (const [other, { view: linked }] of mounted) {
        if (other !== host && other.dataset.link === host.dataset.link) linked.follow(place);
      }
    };
  }
  const here = { view, src: null };
  mounted.set(host, here);
  host.cgreplay = { place: (path) => view.place(path), frameMs: () => view.frameMs, arrows: () => view.arrows };
  return here;
}

/** Forget the replays of some hosts. */
function drop(gone) {
  for (const [host, { view }] of mounted) {
    if (!gone(host)) continue;
    view.dispose();
    mounted.delete(host);
  }
}

export function setSelection(path) {
  wanted.path = path;
  for (const { view } of mounted.values()) view.select(path);
}

export function setMatches(paths) {
  wanted.matches = paths;
  for (const { view } of mounted.values()) view.match(paths);
}

export function fit() {
  for (const { view } of mounted.values()) view.fit();
}

function element(id) {
  const deadline = performance.now() + WAIT_MS;
  return new Promise((resolve) => {
    const look = () => {
      const host = document.getElementById(id);
      if (host || performance.now() > deadline) resolve(host);
      else requestAnimationFrame(look);
    };
    look();
  });
}
