// Marks on nodes that have findings. The payload is written by graphviz_app/marks_route.py.

import { mix, pack, parseColour } from "./theme.mjs";

const LEVELS = [
  ["notice", "\u25b2", "#b45309"],
  ["warning", "\u25c6", "#c2410c"],
];
const MOST = 4000; // drawn in a frame
const SIZE = 14;

export class Marks {
  constructor(buffer, nodes) {
    const found = JSON.parse(new TextDecoder().decode(buffer));
    this.findings = Number(found.findings) || 0;
    this.level = new Map();
    LEVELS.forEach(([name], level) => {
      for (const i of found[name] ?? []) if (Number.isInteger(i) && i >= 0 && i < nodes) this.level.set(i, level);
    });
    this.count = this.level.size;
  }
}

/** Add the marks of one frame: shapes at the corners of boxes, squares where those are too small. */
export function addMarks(list, scene, camera, theme) {
  const { marks } = scene;
  if (!marks || !marks.count) return;
  const { cell, x, y } = scene;
  const { scale } = camera;
  const view = camera.window();
  const ground = pack(theme.background);
  const colours = LEVELS.map(([, , colour]) =>
    pack(mix(parseColour(colour), [255, 255, 255], theme.dark ? 0.45 : 0)),
  );
  const font = `700 ${SIZE}px ${theme.font}`;
  const shaped = list.mode === "boxes" && cell.boxHeight * scale >= 9;
  let drawn = 0;
  for (const [i, level] of marks.level) {
    if (x[i] < view.left - cell.width || x[i] > view.right + cell.width) continue;
    if (y[i] < view.top - cell.height || y[i] > view.bottom + cell.height) continue;
    if (++drawn > MOST) break;
    const corner = list.mode === "boxes" ? cell.boxWidth / 2 : 0;
    const [px, py] = camera.toScreen(x[i] + corner, y[i] - (list.mode === "boxes" ? cell.boxHeight / 2 : 0));
    if (shaped) {
      list.plate(px - SIZE / 2 - 2, py - SIZE / 2 - 1, SIZE + 3, SIZE + 2, ground);
      list.text(LEVELS[level][1], px - SIZE / 2, py, font, colours[level]);
    } else {
      list.plate(px - 2.5, py - 2.5, 5, 5, colours[level]);
    }
  }
}
