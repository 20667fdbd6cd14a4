// Level of detail: nodes too small to draw are merged to strips that show a real aggregate.

import { DIM, LOUD } from "./emphasis.mjs";

/**
 * Merge nodes of 2^rowShift rows and 2^columnShift columns.
 *
 * A strip's category is the one with the largest summed weight (or the most nodes, where the scene
 * has no weights) among its nodes; it spans exactly the rows and columns that are occupied.
 */
export function buildStrips(scene, colour, categories, emphasis, rowShift, columnShift) {
  const { order, columnStart, columns, column, row, columnBand, bandRow, weight } = scene;
  const capacity = scene.nodes;
  const strips = {
    count: 0,
    columnA: new Uint32Array(capacity),
    columnB: new Uint32Array(capacity),
    rowA: new Uint32Array(capacity),
    rowB: new Uint32Array(capacity),
    category: new Uint32Array(capacity),
    emphasis: new Uint8Array(capacity),
  };
  const sums = new Float64Array(categories);
  const step = 1 << columnShift;
  for (let first = 0; first < columns; ) {
    let end = first + 1;
    while (end < columns && end - first < step && columnBand[end] === columnBand[first]) end++;
    let members = order.subarray(columnStart[first], columnStart[end]);
    if (end - first > 1) members = Uint32Array.from(members).sort((a, b) => row[a] - row[b]);
    const origin = bandRow[columnBand[first]];
    for (let k = 0; k < members.length; ) {
      const group = (row[members[k]] - origin) >> rowShift;
      const s = strips.count++;
      const begin = k;
      let columnA = columns;
      let columnB = 0;
      let loud = DIM;
      let best = -1;
      for (; k < members.length && (row[members[k]] - origin) >> rowShift === group; k++) {
        const i = members[k];
        if (column[i] < columnA) columnA = column[i];
        if (column[i] > columnB) columnB = column[i];
        if (emphasis[i] !== DIM && loud !== LOUD) loud = emphasis[i];
        sums[colour[i]] += weight ? weight[i] || 0 : 1;
        if (best < 0 || sums[colour[i]] > sums[best]) best = colour[i];
      }
      strips.columnA[s] = columnA;
      strips.columnB[s] = columnB;
      strips.rowA[s] = row[members[begin]] - origin;
      strips.rowB[s] = row[members[k - 1]] - origin;
      strips.category[s] = best;
      strips.emphasis[s] = loud;
      for (let j = begin; j < k; j++) sums[colour[members[j]]] = 0;
    }
    first = end;
  }
  return strips;
}

/** How many rows and columns to merge so that a strip is a few pixels large. */
export function shiftsFor(scene, scale) {
  const rowPixels = scene.cell.height * scale;
  const columnPixels = scene.cell.width * scale;
  const shift = (pixels, wanted) => Math.max(0, Math.ceil(Math.log2(wanted / pixels)));
  return { row: shift(rowPixels, 4), column: shift(columnPixels, 2.5) };
}

/** The nodes that are merged with a node at these shifts: how many, and what most of them are. */
export function mergedWith(scene, colour, i, shifts) {
  const { columnBand, bandRow, column, row, columnStart, order, weight } = scene;
  const band = columnBand[column[i]];
  let first = column[i];
  while (first > 0 && columnBand[first - 1] === band) first--;
  first += ((column[i] - first) >> shifts.column) << shifts.column;
  const group = (row[i] - bandRow[band]) >> shifts.row;
  const top = bandRow[band] + (group << shifts.row);
  const sums = new Map();
  let count = 0;
  for (let c = first; c < first + (1 << shifts.column) && columnBand[c] === band; c++) {
    const end = columnStart[c + 1];
    for (let k = scene.firstAtOrBelow(c, top); k < end; k++) {
      const v = order[k];
      if (row[v] >= top + (1 << shifts.row)) break;
      count++;
      sums.set(colour[v], (sums.get(colour[v]) ?? 0) + (weight ? weight[v] || 0 : 1));
    }
  }
  const category = [...sums].reduce((best, next) => (next[1] > best[1] ? next : best))[0];
  return { count, category };
}
