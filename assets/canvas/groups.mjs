// Groups of nodes that stand below each other and have one origin: a bracket beside each run, with its name.

import { cut, widthOf } from "./labels.mjs";
import { entryColour, mix, pack } from "./theme.mjs";

const GROUPED = new Set(["module", "source", "phase"]); // colourings whose runs mean something
const NONE = /^no (module|source line|phase)$/;
const LOWEST = 12; // px of a run that has room for a name
const NARROWEST = 28; // px
const MOST = 3000; // names in a frame

/** Where the column to the right begins; beside the last one there is room for a name. */
function nextLeft(scene, c) {
  const { cell, columnLeft, columns } = scene;
  return c + 1 < columns ? columnLeft[c + 1] : columnLeft[c] + 2 * cell.width;
}

/** Add the brackets of one frame, and names where there is room for them. */
export function addGroups(list, scene, camera, theme, state, widthsOf) {
  const colouring = scene.header.colourings[state.colouring];
  if (!colouring || !GROUPED.has(colouring.name) || list.mode !== "boxes") return 0;
  const { cell, order, row, columnStart, columnLeft, y } = scene;
  const { scale } = camera;
  const view = camera.window();
  const index = scene[`colour${state.colouring}`];
  const none = colouring.legend.findIndex((entry) => NONE.test(entry.name));
  const strength = state.dimmed ? 0.35 : 0.9;
  const colours = colouring.legend.map((entry) => pack(mix(theme.background, entryColour(theme, entry), strength)));
  const font = `500 11px ${theme.font}`;
  const widths = widthsOf(font);
  const text = pack(mix(theme.background, theme.muted, state.dimmed ? 0.5 : 1));
  const ground = pack(theme.background);
  const inset = (cell.width - cell.boxWidth) / 2;
  const half = cell.boxHeight / 2;
  let names = 0;
  let runs = 0;
  for (let c = Math.max(0, scene.columnAt(view.left)); c < scene.columns && columnLeft[c] < view.right; c++) {
    const end = columnStart[c + 1];
    let k = columnStart[c];
    while (k < end) {
      const first = order[k];
      const group = index[first];
      let last = first;
      let next = k + 1;
      while (next < end && index[order[next]] === group && row[order[next]] - row[last] <= 1) last = order[next++];
      k = next;
      if (y[last] + half < view.top || y[first] - half > view.bottom) continue;
      if (group === none) continue;
      const [x, top] = camera.toScreen(columnLeft[c] + cell.width - inset, y[first] - half);
      const bottom = camera.toScreen(0, y[last] + half)[1];
      const side = x + Math.max(2, 5 * scale);
      list.line(side, top, side, bottom, colours[group], Math.max(1.5, 3 * scale));
      runs++;
      const gap = (nextLeft(scene, c) - columnLeft[c] - cell.width + 2 * inset) * scale;
      const room = Math.min(gap - (side - x) - 10, camera.width - side - 8);
      // Curves of data flow take the same place.
      if (scene.flows || bottom - top < LOWEST || room < NARROWEST || names >= MOST) continue;
      const shown = cut(colouring.legend[group].name, room, widths);
      if (!shown) continue;
      names++;
      // Of a run that begins above the window the name stays in sight; no line runs through it.
      const middle = Math.min(Math.max(top + 7, 30), bottom - 5);
      list.plate(side + 4, middle - 7, widthOf(shown, widths) + 3, 14, ground);
      list.text(shown, side + 5, middle, font, text);
    }
  }
  return runs;
}
