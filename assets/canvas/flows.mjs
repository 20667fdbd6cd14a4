// Data flow over the picture: curves from the node that wrote bytes to the node that reads them.
// The payload is written by graphviz_app/flow_route.py.

import { SceneError } from "./data.mjs";
import { mix, pack, parseColour } from "./theme.mjs";

const MAGIC = 0x464c4743; // "CGLF", little-endian
const VERSION = 2;
const COLOUR = "#009e73"; // of memory
const POSSIBLE = 3;
const NO_DATA = 4; // a dependency between nodes that share no bytes
const UNORDERED = 5; // nodes on the same bytes that no dependency orders
const NO_DATA_COLOUR = "#999999"; // of synchronisation
const UNORDERED_COLOUR = "#d55e00"; // of findings
const MOST = 20_000; // drawn in a frame; the selected node's come on top
const PIECES = 10;

export class Flows {
  constructor(buffer, nodes) {
    const view = new DataView(buffer);
    if (buffer.byteLength < 12 || view.getUint32(0, true) !== MAGIC || view.getUint32(4, true) !== VERSION) {
      throw new SceneError("What the server sent is not the data flow of a graph. Reload the page.");
    }
    this.count = view.getUint32(8, true);
    if (buffer.byteLength !== 12 + 9 * this.count) {
      throw new SceneError("The data flow of this graph is cut off. Reload the page.");
    }
    this.writer = new Uint32Array(buffer, 12, this.count);
    this.reader = new Uint32Array(buffer, 12 + 4 * this.count, this.count);
    this.how = new Uint8Array(buffer, 12 + 8 * this.count, this.count);
    this.flowing = this.how.reduce((sum, how) => sum + (how <= POSSIBLE), 0);
    const fits = (i) => i < nodes;
    if (!this.writer.every(fits) || !this.reader.every(fits)) {
      throw new SceneError("The data flow does not fit this graph. Reload the page.");
    }
  }

  /** Nodes that wrote what a node reads, and that read what it wrote. */
  neighbours(i) {
    const found = [];
    for (let f = 0; f < this.count; f++) {
      if (this.reader[f] === i) found.push(this.writer[f]);
      else if (this.writer[f] === i) found.push(this.reader[f]);
    }
    return found;
  }
}

/** Add the curves of one frame to the list, those of the selected node last and loud. */
export function addFlows(list, scene, camera, theme, state) {
  const { flows } = scene;
  if (!flows) return;
  const lit = (colour) => mix(parseColour(colour), [255, 255, 255], theme.dark ? 0.22 : 0);
  const colours = [COLOUR, NO_DATA_COLOUR, UNORDERED_COLOUR].map(lit);
  const colourOf = (how) => colours[how === UNORDERED ? 2 : how === NO_DATA ? 1 : 0];
  const shade = (how, t) => pack(mix(theme.background, colourOf(how), t));
  const selected = state.selected;
  const strength = (how) => (how === POSSIBLE ? 0.5 : 1) * (state.dimmed ? 0.28 : 0.8);
  const isDashed = (how) => how === POSSIBLE || how === NO_DATA;
  const loud = [];
  if (list.mode === "boxes") {
    const view = camera.window();
    const { x, y, cell } = scene;
    const seen = (i) =>
      x[i] > view.left - cell.width && x[i] < view.right + cell.width &&
      y[i] > view.top - cell.height && y[i] < view.bottom + cell.height;
    const shown = [];
    for (let f = 0; f < flows.count; f++) {
      const [u, v] = [flows.writer[f], flows.reader[f]];
      if (u === selected || v === selected) loud.push(f);
      else if (seen(u) && seen(v)) shown.push(f);
    }
    const stride = Math.ceil(shown.length / MOST) || 1;
    for (let k = 0; k < shown.length; k += stride) {
      const how = flows.how[shown[k]];
      const width = how === UNORDERED ? 2.2 : 1.2;
      curve(list, scene, camera, flows, shown[k], shade(how, strength(how)), width, isDashed(how));
    }
  } else if (selected >= 0) {
    for (let f = 0; f < flows.count; f++) {
      if (flows.writer[f] === selected || flows.reader[f] === selected) loud.push(f);
    }
  }
  for (const f of loud.slice(0, MOST)) {
    const how = flows.how[f];
    curve(list, scene, camera, flows, f, shade(how, 1), 2.2, isDashed(how));
  }
}

function curve(list, scene, camera, flows, f, colour, width, dashed) {
  const { x, y, cell } = scene;
  const [u, v] = [flows.writer[f], flows.reader[f]];
  const half = cell.boxWidth / 2;
  const far = Math.abs(y[v] - y[u]) / cell.height;
  // Beside the boxes where both are in one column; else between their facing sides. On the left is
  // what is no flow.
  const same = Math.abs(x[v] - x[u]) < 1;
  const right = same ? flows.how[f] <= POSSIBLE : x[v] >= x[u];
  const x0 = x[u] + (right ? half : -half);
  const x1 = x[v] + (right === same ? half : -half);
  const y0 = y[u] + cell.boxHeight * 0.2;
  const y1 = y[v] - cell.boxHeight * 0.2;
  const room = (cell.width - cell.boxWidth) * 0.9;
  const bulge = (same ? Math.min(room, 6 + 5 * Math.log2(1 + far)) : 0) * (right ? 1 : -1);
  const cx = same ? x0 + 2 * bulge : (x0 + x1) / 2;
  const cy = (y0 + y1) / 2;
  const at = (t) => {
    const s = 1 - t;
    return camera.toScreen(s * s * x0 + 2 * s * t * cx + t * t * x1, s * s * y0 + 2 * s * t * cy + t * t * y1);
  };
  const pieces = dashed ? 2 * PIECES : PIECES;
  let [px, py] = at(0);
  for (let k = 1; k <= pieces; k++) {
    const [qx, qy] = at(k / pieces);
    if (k === pieces && camera.scale >= 0.4 && flows.how[f] !== UNORDERED) list.line(px, py, qx, qy, colour, 6, 0.1);
    else if (!dashed || k % 2) list.line(px, py, qx, qy, colour, width);
    [px, py] = [qx, qy];
  }
}
