// Reading a scene payload (written by graphviz_app/figures/scene.py) and what follows from it.

const MAGIC = 0x534c4743; // "CGLS", little-endian
const VERSION = 1;
const ARRAY_TYPES = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  float32: Float32Array,
};

export class SceneError extends Error {}

/** Decode a payload or throw a SceneError whose message is a sentence for the user. */
export function decodeScene(buffer) {
  if (buffer.byteLength < 12) {
    throw new SceneError(
      `The picture of this graph has ${buffer.byteLength} bytes, too few to be one. Reload the page.`,
    );
  }
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== MAGIC) {
    throw new SceneError(
      "What the server sent is not the picture of a graph. Reload the page, or restart cglens.",
    );
  }
  const version = view.getUint32(4, true);
  if (version !== VERSION) {
    throw new SceneError(
      `The picture has version ${version}, this page reads version ${VERSION}. Reload the page.`,
    );
  }
  const length = view.getUint32(8, true);
  const begin = Math.ceil((12 + length) / 8) * 8;
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 12, length)));
  } catch {
    throw new SceneError("The picture of this graph is damaged or cut off. Reload the page.");
  }
  if (buffer.byteLength !== begin + header.bytes) {
    throw new SceneError(
      `The picture of this graph is cut off: ${buffer.byteLength} of ${begin + header.bytes} bytes arrived. Reload the page.`,
    );
  }
  const arrays = {};
  for (const [name, { type, offset, length: count }] of Object.entries(header.arrays)) {
    arrays[name] = new ARRAY_TYPES[type](buffer, begin + offset, count);
  }
  check(header, arrays);
  return new Scene(header, arrays);
}

function check(header, arrays) {
  const perNode = ["column", "row", "level", "type", "label"];
  header.colourings.forEach((_, k) => perNode.push(`colour${k}`));
  perNode.push(...["before", "after", "twin"].filter((name) => arrays[name]));
  const fits =
    perNode.every((name) => arrays[name]?.length === header.nodes) &&
    ["source", "target", "route"].every((name) => arrays[name]?.length === header.edges) &&
    arrays.source.every((v) => v < header.nodes) &&
    arrays.target.every((v) => v < header.nodes) &&
    arrays.column.every((c) => c < arrays.columnX.length);
  if (!fits) {
    throw new SceneError("The picture of this graph contradicts itself. Reload the page.");
  }
}

/** A graph ready to draw; world units are CSS pixels at full size. */
export class Scene {
  constructor(header, arrays) {
    const { nodes, edges, cell } = header;
    const { column, row, columnX, columnBand, bandRow } = arrays;
    const indices = { labelIndex: arrays.label, noteIndex: arrays.note };
    Object.assign(this, arrays, { header, nodes, edges, cell }, indices);
    delete this.label; // the methods of those names
    delete this.note;
    this.columns = columnX.length;
    this.bands = bandRow.length - 1;
    this.columnLeft = Float64Array.from(columnX, (x) => x * cell.width);
    this.x = new Float32Array(nodes);
    this.y = new Float32Array(nodes);
    for (let i = 0; i < nodes; i++) {
      const c = column[i];
      this.x[i] = this.columnLeft[c] + cell.width / 2;
      this.y[i] = (row[i] - bandRow[columnBand[c]] + 0.5) * cell.height;
    }
    this.#measureBands();
    this.#sortCells();
    this.bodies = new Uint8Array(nodes);
    for (const i of arrays.enterable ?? []) this.bodies[i] = 1;
  }

  #measureBands() {
    const { bands, cell, bandRow, columnBand, columnLeft, column, level, nodes } = this;
    this.bandLeft = new Float64Array(bands).fill(Infinity);
    this.bandRight = new Float64Array(bands);
    this.bandBottom = Float64Array.from(
      { length: bands },
      (_, b) => (bandRow[b + 1] - bandRow[b]) * cell.height,
    );
    this.firstLevel = new Uint32Array(bands).fill(0xffffffff);
    this.lastLevel = new Uint32Array(bands);
    for (let c = 0; c < this.columns; c++) {
      const b = columnBand[c];
      this.bandLeft[b] = Math.min(this.bandLeft[b], columnLeft[c]);
      this.bandRight[b] = Math.max(this.bandRight[b], columnLeft[c] + cell.width);
    }
    for (let i = 0; i < nodes; i++) {
      const b = columnBand[column[i]];
      if (level[i] < this.firstLevel[b]) this.firstLevel[b] = level[i];
      if (level[i] > this.lastLevel[b]) this.lastLevel[b] = level[i];
    }
    this.width = bands ? this.bandRight[bands - 1] : 0;
    this.height = this.bandBottom.reduce((a, b) => Math.max(a, b), 0);
  }

  /** Nodes sorted by column, then row: `order`, with the first of each column in `columnStart`. */
  #sortCells() {
    const { nodes, column, row } = this;
    let rows = 1;
    for (let i = 0; i < nodes; i++) if (row[i] >= rows) rows = row[i] + 1;
    const keys = new Float64Array(nodes);
    for (let i = 0; i < nodes; i++) keys[i] = (column[i] * rows + row[i]) * nodes + i;
    keys.sort();
    this.order = Uint32Array.from(keys, (key) => key % nodes);
    this.columnStart = new Uint32Array(this.columns + 1);
    for (let i = 0; i < nodes; i++) this.columnStart[column[i] + 1]++;
    for (let c = 0; c < this.columns; c++) this.columnStart[c + 1] += this.columnStart[c];
  }

  /** Position in `order` of the first node of a column at or below a row. */
  firstAtOrBelow(column, row) {
    let low = this.columnStart[column];
    let high = this.columnStart[column + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.row[this.order[middle]] < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Last column whose left edge is at or left of x; -1 if there is none. */
  columnAt(x) {
    let low = 0;
    let high = this.columns;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.columnLeft[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  label(i) {
    return this.header.labels[this.labelIndex[i]];
  }

  fullName(i) {
    return this.name ? this.header.names[this.name[i]] : this.label(i);
  }

  typeName(i) {
    return this.header.types[this.type[i]];
  }

  note(i) {
    return this.noteIndex ? this.header.notes[this.noteIndex[i]] : "";
  }

  path(i) {
    if (!this.before) return this.header.pathPrefix + i;
    const [one, other] = [this.before, this.after].map((positions, side) =>
      positions[i] ? this.header.pairPrefixes[side] + (positions[i] - 1) : "",
    );
    return !one || !other || one === other ? one || other : `${one} \u2192 ${other}`;
  }

  /** The other place of a node that moved from one graph to the other; -1 if it did not. */
  twinOf(i) {
    return this.twin ? this.twin[i] - 1 : -1;
  }

  /** Predecessors and successors of a node, in the order of the edges. */
  neighbours(i) {
    const before = [];
    const after = [];
    for (let e = 0; e < this.edges; e++) {
      if (this.target[e] === i) before.push(this.source[e]);
      else if (this.source[e] === i) after.push(this.target[e]);
    }
    return { before, after };
  }

  colouringIndex(name) {
    const k = this.header.colourings.findIndex((c) => c.name === name);
    return k < 0 ? 0 : k;
  }
}
