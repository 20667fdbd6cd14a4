// What tests and benchmarks ask a mounted canvas.

export function stats(view) {
  const { scene, camera, list, state } = view;
  return {
    nodes: scene?.nodes ?? 0,
    edges: scene?.edges ?? 0,
    bands: scene?.bands ?? 0,
    renderer: view.renderer.name,
    mode: list.mode,
    boxes: list.boxes.count,
    lines: list.lines.count,
    texts: list.texts.length,
    groups: view.groups ?? 0,
    scale: camera.scale,
    fitScale: camera.fitScale,
    frames: view.frames,
    frameMs: view.frameMs,
    selected: state.selected,
    colouring: scene?.header.colourings[state.colouring]?.name ?? null,
    dimmed: state.dimmed,
  };
}

/** Time frames while panning to and fro; for tests and benchmarks. */
export async function panBenchmark(view, steps = 30) {
  const times = [];
  let last = performance.now();
  for (let k = 0; k < steps; k++) {
    view.pan(k % 2 ? -7 : 7, k % 4 < 2 ? 5 : -5);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
  return { steps, median: at(0.5), p95: at(0.95), script: view.frameMs };
}
