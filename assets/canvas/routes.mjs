// The lines that edges run along; the kinds are graphviz_app.layout.routes.Route.

export const STRAIGHT = 0;
const TURN_FIRST = 1;
const TURN_LAST = 2;
export const GUTTER = 3;
export const WRAP = 4;
export const WRAP_GUTTER = 5;
export const BACK = 6;

export const WRAP_MARGIN = 16;

/** Write the corners of an edge in world units to `out` as x, y pairs; return their number. */
export function corners(scene, e, out) {
  const { x, y, cell } = scene;
  const u = scene.source[e];
  const v = scene.target[e];
  const half = cell.boxHeight / 2;
  const gap = cell.height - cell.boxHeight;
  const side = (cell.width - cell.boxWidth) / 2;
  const ux = x[u];
  const vx = x[v];
  const uy = y[u] + half;
  const vy = y[v] - half;
  const under = uy + gap * 0.36; // where lines leave a box
  const over = vy - gap * 0.36; // where lines come to a box
  const beside = cell.boxWidth / 2 + side;
  let k = 0;
  const put = (px, py) => {
    out[k++] = px;
    out[k++] = py;
  };
  put(ux, uy);
  switch (scene.route[e]) {
    case STRAIGHT:
      break;
    case TURN_FIRST:
      put(ux, under);
      put(vx, under);
      break;
    case TURN_LAST:
      put(ux, over);
      put(vx, over);
      break;
    case GUTTER: {
      // Forks run left of the gutter's middle and joins right of it, so that they stay apart.
      const down = vx > ux ? vx - beside + 2 : vx < ux ? ux - beside - 2 : ux + beside - 2;
      put(ux, under);
      put(down, under);
      put(down, over);
      put(vx, over);
      break;
    }
    case WRAP:
    case WRAP_GUTTER: {
      const from = scene.columnBand[scene.column[u]];
      const to = scene.columnBand[scene.column[v]];
      let bottom = 0;
      for (let b = from; b < to; b++) bottom = Math.max(bottom, scene.bandBottom[b]);
      bottom += WRAP_MARGIN;
      const up = scene.bandLeft[to] - (cell.bandGap * cell.width) / 2;
      if (scene.route[e] === WRAP_GUTTER) {
        put(ux, under);
        put(ux + beside - 2, under);
        put(ux + beside - 2, bottom);
      } else put(ux, bottom);
      put(up, bottom);
      put(up, over);
      put(vx, over);
      break;
    }
    case BACK: {
      const aside = Math.max(ux, vx) + beside - 3;
      put(ux, under);
      put(aside, under);
      put(aside, over);
      put(vx, over);
      break;
    }
  }
  put(vx, vy);
  return k >> 1;
}
