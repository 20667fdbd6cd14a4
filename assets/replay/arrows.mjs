// Dependencies as arrows: all of them where they are few, else those of the selected node.

import { mix } from "../canvas/theme.mjs";

const FEW = 240; // arrows that are drawn without a selection
const MOST = 600; // of one node
const HEAD = 5; // px
const OUTSIDE = 4000; // px beyond which a place is as good as any

/** Draw them, and return how many. */
export function drawArrows(context, view, css) {
  const { replay, theme, selected } = view;
  let count = 0;
  context.lineWidth = 1;
  if (replay.from.length <= FEW) {
    const quiet = css(mix(theme.background, theme.text, selected >= 0 ? 0.3 : 0.55));
    for (let arrow = 0; arrow < replay.from.length; arrow++) count += one(context, view, arrow, quiet);
  }
  if (selected < 0) return count;
  const { into, outOf } = replay.arrowsOf(selected);
  context.lineWidth = 1.5;
  for (const arrow of into.slice(0, MOST)) count += one(context, view, arrow, css(theme.accent));
  for (const arrow of outOf.slice(0, MOST)) count += one(context, view, arrow, css(theme.text));
  return count;
}

function one(context, view, arrow, colour) {
  const { replay, layout, width } = view;
  const from = replay.from[arrow];
  const to = replay.to[arrow];
  const x0 = clamp(view.x(replay.end[from]));
  const x1 = clamp(view.x(replay.start[to]));
  if (Math.max(x0, x1) < layout.left || Math.min(x0, x1) > width) return 0;
  const middle = (bar) => layout.top + (replay.lane[bar] + 0.5) * layout.laneHeight - view.scroll;
  const y0 = middle(from);
  const y1 = middle(to);
  context.strokeStyle = context.fillStyle = colour;
  context.beginPath();
  if (replay.lane[from] === replay.lane[to]) {
    // One after another on a stream: a bow over the bars, so that it does not hide in the gap.
    const top = y0 - layout.barHeight / 2;
    const bow = Math.min(layout.laneHeight - layout.barHeight + 5, 9);
    const reach = Math.max((x1 - x0) / 2, 4);
    context.moveTo(x0 - 3, top);
    context.bezierCurveTo(x0 - 3 + reach / 2, top - bow, x1 + 3 - reach / 2, top - bow, x1 + 3, top);
    context.stroke();
    head(context, x1 + 3, top + 1, Math.PI / 2);
    return 1;
  }
  const bend = Math.min(60, Math.max(10, Math.abs(x1 - x0) / 2));
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  context.stroke();
  head(context, x1 + 1, y1, 0);
  return 1;
}

function head(context, x, y, angle) {
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  context.beginPath();
  context.moveTo(0, 0);
  context.lineTo(-HEAD, -HEAD / 2);
  context.lineTo(-HEAD, HEAD / 2);
  context.fill();
  context.restore();
}

const clamp = (x) => Math.max(-OUTSIDE, Math.min(OUTSIDE * 2, x));
