// Edges as lines of the draw list: which are worth drawing, and their rounded corners.

import { BACK, GUTTER, STRAIGHT, WRAP, WRAP_GUTTER, corners } from "./routes.mjs";
import { entryColour, mix, pack } from "./theme.mjs";

const INVISIBLE = 0.8; // px; shorter pieces of lines are not drawn
// A fork of 100,000 is one thick line: past these lengths, in pixels, only every second, third,
// ... edge is drawn.
const MOST_WITHIN = 700_000; // edges with both ends on the screen
const MOST_NEAR = 300_000; // edges with one end on the screen
const MOST_PASSING = 200_000; // edges that pass through

const points = new Float64Array(32);

/** Add the edges of one frame to the list, those of the selection last and loud. */
export function addEdges(list, scene, camera, theme, state) {
  const seen = visibleEdges(list, scene, camera, state);
  const { scale } = camera;
  const gap = (scene.cell.height - scene.cell.boxHeight) * scale;
  const width = Math.min(1.5, Math.max(0.7, 1.3 * scale));
  const strength = list.mode === "strips" ? 0.35 : gap >= 1.6 ? 0.85 : 0.5;
  const shade = (t) => pack(mix(theme.background, theme.edge, t));
  const [normal, quiet] = state.dimmed
    ? [shade(0.25), shade(0.15)]
    : [shade(strength), shade(strength * 0.55)];
  const draw = ({ edges, length }, most, colourOf, strokeWidth) => {
    const stride = Math.ceil(length / most) || 1;
    for (let k = 0; k < edges.length; k += stride) {
      addEdge(list, scene, camera, edges[k], colourOf(edges[k]), strokeWidth);
    }
  };
  const colourOf = (e) =>
    scene.route[e] === WRAP || scene.route[e] === WRAP_GUTTER ? quiet : normal;
  draw(seen.passing, MOST_PASSING, colourOf, width);
  draw(seen.near, MOST_NEAR, colourOf, width);
  draw(seen.within, MOST_WITHIN, colourOf, width);
  if (seen.marked.edges.length) {
    const { legend } = scene.header.colourings[state.colouring];
    const marks = scene[`loudEdges${state.colouring}`];
    const colours = legend.map((entry) => pack(entryColour(theme, entry)));
    draw(seen.marked, MOST_NEAR, (e) => colours[marks[e] - 1], Math.max(1.4, 2.4 * Math.min(1, scale)));
  }
  const accent = pack(theme.accent);
  const loudWidth = Math.max(1.6, 2 * Math.min(1, scale));
  draw(seen.loudOut, MOST_NEAR, () => accent, loudWidth);
  draw(seen.loudWithin, MOST_WITHIN, () => accent, loudWidth);
}

/** Edges to draw, and how long they are on the screen. */
class Some {
  edges = [];
  length = 0;

  add(e, length) {
    this.edges.push(e);
    this.length += length;
  }
}

/** Sort the edges on the screen; straight ones between boxes that touch are left out. */
function visibleEdges(list, scene, camera, { selected, colouring }) {
  const isMarked = scene[`loudEdges${colouring}`];
  const { source, target, route, x, y, cell } = scene;
  const { scale } = camera;
  const view = camera.window();
  const [left, right] = [view.left - cell.width, view.right + cell.width];
  const [top, bottom] = [view.top - cell.height, view.bottom + cell.height];
  const showStraight = (cell.height - cell.boxHeight) * scale >= 1.6;
  const shortest = showStraight ? 0 : list.mode === "strips" ? 16 : 9;
  const [within, near, passing] = [new Some(), new Some(), new Some()];
  const [loudWithin, loudOut, marked] = [new Some(), new Some(), new Some()];
  for (let e = 0; e < scene.edges; e++) {
    const u = source[e];
    const v = target[e];
    const kind = route[e];
    const isLoud = u === selected || v === selected;
    if (kind === STRAIGHT && !showStraight && !isLoud) continue;
    const ux = x[u];
    const uy = y[u];
    const vx = x[v];
    const vy = y[v];
    const length =
      Math.min(Math.abs(ux - vx) * scale, camera.width) +
      Math.min(Math.abs(uy - vy) * scale, camera.height);
    const startSeen = ux > left && ux < right && uy > top && uy < bottom;
    const endSeen = vx > left && vx < right && vy > top && vy < bottom;
    if (isLoud) {
      (startSeen && endSeen ? loudWithin : loudOut).add(e, length);
      continue;
    }
    if (kind <= GUTTER) {
      if ((ux < left && vx < left) || (ux > right && vx > right)) continue;
      if (vy < top || uy > bottom) continue;
      if (length < shortest) continue;
    }
    if (isMarked?.[e]) {
      marked.add(e, length);
      continue;
    }
    (startSeen && endSeen ? within : startSeen || endSeen ? near : passing).add(e, length);
  }
  return { within, near, passing, loudWithin, loudOut, marked };
}

function addEdge(list, scene, camera, e, colour, width) {
  const { scale } = camera;
  const count = corners(scene, e, points);
  const ox = camera.width / 2 - camera.x * scale;
  const oy = camera.height / 2 - camera.y * scale;
  for (let k = 0; k < count; k++) {
    points[2 * k] = points[2 * k] * scale + ox;
    points[2 * k + 1] = points[2 * k + 1] * scale + oy;
  }
  const last = 2 * (count - 1);
  const arrow = scale >= 0.4 ? Math.min(7, 5.5 * scale + width) : 0;
  if (arrow) {
    const [tipX, tipY] = [points[last], points[last + 1]];
    list.line(tipX, tipY - arrow, tipX, tipY, colour, arrow * 0.95, 0.1);
    points[last + 1] = tipY - arrow * 0.8;
  }
  const dashed = scene.route[e] === BACK;
  const radius = scale >= 0.3 ? 5 * scale : 0;
  let px = points[0];
  let py = points[1];
  for (let k = 1; k < count; k++) {
    const cx = points[2 * k];
    const cy = points[2 * k + 1];
    if (radius && k < count - 1) {
      const nx = points[2 * k + 2];
      const ny = points[2 * k + 3];
      const before = Math.abs(cx - px) + Math.abs(cy - py);
      const after = Math.abs(nx - cx) + Math.abs(ny - cy);
      const r = Math.min(radius, before, after / 2);
      if (r >= 1) {
        const ax = cx - Math.sign(cx - px) * r;
        const ay = cy - Math.sign(cy - py) * r;
        const bx = cx + Math.sign(nx - cx) * r;
        const by = cy + Math.sign(ny - cy) * r;
        stroke(list, px, py, ax, ay, colour, width, dashed);
        const mx = (ax + 2 * cx + bx) / 4;
        const my = (ay + 2 * cy + by) / 4;
        list.line(ax, ay, mx, my, colour, width);
        list.line(mx, my, bx, by, colour, width);
        px = bx;
        py = by;
        continue;
      }
    }
    stroke(list, px, py, cx, cy, colour, width, dashed);
    px = cx;
    py = cy;
  }
}

function stroke(list, x0, y0, x1, y1, colour, width, dashed) {
  const length = Math.abs(x1 - x0) + Math.abs(y1 - y0); // lines run along an axis
  if (length < INVISIBLE) return;
  const dashes = dashed ? Math.min(200, Math.max(1, Math.round(length / 8))) : 1;
  for (let k = 0; k < dashes; k++) {
    const a = k / dashes;
    const b = dashed ? (k + 0.55) / dashes : 1;
    list.line(
      x0 + (x1 - x0) * a, y0 + (y1 - y0) * a, x0 + (x1 - x0) * b, y0 + (y1 - y0) * b, colour, width,
    );
  }
}
