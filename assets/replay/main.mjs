// The entry: what the page calls, and what it is told. See ../cglens_replay.js.

import { decode } from "./data.mjs";
import { ReplayView } from "./view.mjs";

const WAIT_MS = 3000;
let current = null; // { host, view, src }
let wanted = { path: null, matches: null }; // kept for a replay that is not there yet

/** Draw the replay at `src` into the element `hostId`; safe to call again. */
export async function mount(src, hostId) {
  const host = await element(hostId);
  if (!host) return;
  if (current?.host !== host) {
    current?.view.dispose();
    const view = new ReplayView(host, (path) => {
      const store = host.dataset.selectStore;
      if (store) window.dash_clientside?.set_props?.(store, { data: { path, at: performance.now() } });
    });
    current = { host, view, src: null };
    host.cgreplay = { place: (path) => view.place(path), frameMs: () => view.frameMs, arrows: () => view.arrows };
  }
  if (current.src === src) return;
  current.src = src;
  host.removeAttribute("data-ready");
  const here = current;
  try {
    const response = await fetch(src, { credentials: "same-origin" });
    if (!response.ok) throw new Error(await response.text());
    const replay = decode(await response.json());
    if (here !== current || here.src !== src) return;
    here.view.show(replay);
    here.view.select(wanted.path);
    here.view.match(wanted.matches);
    host.setAttribute("data-ready", replay.count);
  } catch (error) {
    here.src = null;
    host.setAttribute("data-error", error.message);
    console.error("The replay cannot be drawn:", error.message);
  }
}

export function setSelection(path) {
  wanted.path = path;
  current?.view.select(path);
}

export function setMatches(paths) {
  wanted.matches = paths;
  current?.view.match(paths);
}

export function fit() {
  current?.view.fit();
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
