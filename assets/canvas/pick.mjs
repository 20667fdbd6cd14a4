// Which node is at a point, and which node an arrow key leads to.

/** The node whose box holds a point of the world, else -1. */
export function nodeAt(scene, x, y, reach = 0) {
  const c = scene.columnAt(x + reach);
  if (c < 0 || y < -reach) return -1;
  const { cell, bandRow, columnBand, order, columnStart, row } = scene;
  if (Math.abs(x - scene.columnLeft[c] - cell.width / 2) > cell.boxWidth / 2 + reach) return -1;
  const origin = bandRow[columnBand[c]];
  const at = origin + Math.floor(y / cell.height);
  const k = scene.firstAtOrBelow(c, at - Math.ceil(reach / cell.height));
  let best = -1;
  let nearest = cell.boxHeight / 2 + reach;
  for (let j = k; j < columnStart[c + 1] && row[order[j]] <= at + 1 + reach / cell.height; j++) {
    const distance = Math.abs(scene.y[order[j]] - y);
    if (distance <= nearest) {
      best = order[j];
      nearest = distance;
    }
  }
  return best;
}

/** The node that an arrow key leads to from `i`; `i` itself where there is none. */
export function neighbourInDirection(scene, i, direction) {
  const { before, after } = scene.neighbours(i);
  const sameLane = (nodes) => nodes.find((v) => scene.column[v] === scene.column[i]);
  if (direction === "down") return sameLane(after) ?? after[0] ?? i;
  if (direction === "up") return sameLane(before) ?? before[0] ?? i;
  const step = direction === "left" ? -1 : 1;
  const row = scene.row[i] - scene.bandRow[scene.columnBand[scene.column[i]]];
  for (let c = scene.column[i] + step; c >= 0 && c < scene.columns; c += step) {
    const first = scene.columnStart[c];
    const end = scene.columnStart[c + 1];
    if (first === end) continue;
    const k = scene.firstAtOrBelow(c, row + scene.bandRow[scene.columnBand[c]]);
    return scene.order[Math.min(k, end - 1)];
  }
  return i;
}
