// The entry: what the page calls, and what it is told. See ../cglens_canvas.js.

import { SceneError, decodeScene } from "./data.mjs";
import { Flows } from "./flows.mjs";
import { Marks } from "./marks.mjs";
import { panBenchmark, stats } from "./probe.mjs";
import { View } from "./view.mjs";

const HOST_WAIT_MS = 3000;
let current = null; // the host that was mounted last
const early = new Map(); // host -> calls made before it was on the page

/** Draw the scene at `src` into the element `hostId`; safe to call again. */
export async function mount(src, hostId) {
  current = hostId;
  const host = document.getElementById(hostId) ?? (await hostElement(hostId));
  if (!host) return;
  const mounted = mountedIn(host) ?? create(host);
  if (mounted.src === src) return;
  mounted.src = src;
  mounted.request?.abort();
  mounted.request = null;
  if (!src) {
    mounted.view.fail("");
    return;
  }
  host.removeAttribute("data-ready");
  host.removeAttribute("data-error");
  const request = (mounted.request = new AbortController());
  const start = performance.now();
  try {
    const scene = decodeScene(await load(src, request.signal));
    if (request !== mounted.request) return;
    mounted.request = null;
    mounted.view.onFrame = () => {
      mounted.view.onFrame = null;
      host.setAttribute("data-ready", scene.nodes);
      send(host, "ready", {
        nodes: scene.nodes,
        edges: scene.edges,
        frames: mounted.view.frames,
        firstPaintMs: performance.now() - start,
      });
    };
    mounted.view.show(scene);
    for (const call of mounted.later.splice(0)) call(mounted.view);
  } catch (error) {
    if (error.name === "AbortError" || request !== mounted.request) return;
    const message =
      error instanceof SceneError ? error.message : `The graph cannot be drawn: ${error.message}`;
    mounted.request = null;
    mounted.src = null; // so that mounting again tries again
    mounted.view.fail(message);
    host.setAttribute("data-error", message);
    send(host, "error", { message });
  }
}

export function setColouring(name, hostId) {
  if (name) whenShown(hostId, (view) => view.setColouring(name));
}

export function setSelection(index, hostId) {
  whenShown(hostId, (view) => {
    const i = index === null || index === undefined ? -1 : Number(index);
    if (i === view.state.selected || i >= view.scene.nodes) return;
    view.setSelection(i);
    // Who steps through the changes of a comparison wants to read them.
    if (i >= 0) view.reveal(i, view.link !== null);
  });
}

export function setMatches(indices, hostId) {
  whenShown(hostId, (view) => view.setMatches(indices ?? null));
}

/** Draw the data flow at `src` over the scene that is shown, or no longer. */
export function setFlows(src, hostId) {
  whenShown(hostId, async (view) => {
    if (view.flowsSrc === (src ?? null)) return;
    view.flowsSrc = src ?? null;
    const { scene } = view;
    let flows = null;
    try {
      if (src) flows = new Flows(await load(src), scene.nodes);
    } catch (error) {
      view.say(error instanceof SceneError ? error.message : `The data flow cannot be drawn: ${error.message}`);
      return;
    }
    if (view.scene === scene && view.flowsSrc === (src ?? null)) view.setFlows(flows);
  });
}

/** Mark the nodes with findings at `src` in the scene that is shown, or none. */
export function setMarks(src, hostId) {
  whenShown(hostId, async (view) => {
    if (view.marksSrc === (src ?? null)) return;
    view.marksSrc = src ?? null;
    const { scene } = view;
    let marks = null;
    try {
      if (src) marks = new Marks(await load(src), scene.nodes);
    } catch (error) {
      view.say(`Findings cannot be marked: ${error.message}`);
      return;
    }
    if (view.scene === scene && view.marksSrc === (src ?? null)) view.setMarks(marks);
  });
}

export function fit(hostId) {
  whenShown(hostId, (view) => view.fit());
}

/** Call now if the scene that was asked for is shown, else when it is. */
function whenShown(hostId, call) {
  const id = hostId ?? current;
  const host = document.getElementById(id);
  const mounted = host && mountedIn(host);
  if (!mounted && id) early.set(id, [...(early.get(id) ?? []), call]);
  else if (mounted?.view.scene && !mounted.request) call(mounted.view);
  else mounted?.later.push(call);
}

function mountedIn(host) {
  return host.cglens?.mounted ?? null;
}

function create(host) {
  const view = new View(host, (kind, detail) => {
    send(host, kind, detail);
    const store = host.dataset[`${kind}Store`];
    if (store) window.dash_clientside?.set_props?.(store, { data: detail });
  });
  const mounted = { view, src: null, request: null, later: early.get(host.id) ?? [] };
  early.delete(host.id);
  host.cglens = {
    mounted,
    nodeScreenPosition: (i) => view.nodeScreenPosition(i),
    stats: () => stats(view),
    panBenchmark: (steps) => panBenchmark(view, steps),
  };
  watchRemoval(host, view);
  return mounted;
}

/** Free the GPU when the page takes the host away. */
function watchRemoval(host, view) {
  const observer = new MutationObserver(() => {
    if (host.isConnected) return;
    observer.disconnect();
    host.cglens.mounted.request?.abort();
    delete host.cglens;
    view.dispose();
  });
  observer.observe(document.body, { childList: true, subtree: true });
}

function send(host, kind, detail) {
  host.dispatchEvent(new CustomEvent(`cglens:${kind}`, { detail, bubbles: true }));
}

async function load(src, signal) {
  const response = await fetch(src, { signal, credentials: "same-origin" });
  if (!response.ok) {
    throw new SceneError(
      `The server answered ${response.status} when asked for the picture of this graph. Reload the page, or restart cglens.`,
    );
  }
  return response.arrayBuffer();
}

/** Dash may call before React has put the host on the page. */
function hostElement(hostId) {
  const deadline = performance.now() + HOST_WAIT_MS;
  return new Promise((resolve) => {
    const look = () => {
      const host = document.getElementById(hostId);
      if (host || performance.now() > deadline) resolve(host);
      else requestAnimationFrame(look);
    };
    look();
  });
}
