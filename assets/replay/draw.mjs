// Draws the visible part of a replay; bars too small to see are merged to what takes most time.

import { entryColour, cssOf, mix, pack } from "../canvas/theme.mjs";
import { drawArrows } from "./arrows.mjs";
import { ticks } from "./axis.mjs";

const SMALLEST_LABEL = 34; // px of a bar
const CRITICAL = { colour: "#C2410C", dark: "#FF9A5C" };

export function draw(context, view) {
  const { replay, theme, width, height, layout, selected, matches } = view;
  const { left, top, laneHeight, barHeight, axis } = layout;
  const css = (rgb, alpha) => cssOf(pack(rgb, alpha));
  context.fillStyle = css(theme.background);
  context.fillRect(0, 0, width, height);
  const bottom = Math.min(height - axis, top + replay.laneCount * laneHeight);
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left, height - axis);
  context.clip();
  drawIdle(context, view, css, bottom);
  const fills = replay.types.map((entry) => css(mix(theme.background, entryColour(theme, entry), 0.8)));
  const pale = replay.types.map((entry) => css(mix(theme.background, entryColour(theme, entry), 0.22)));
  const critical = css(entryColour(theme, CRITICAL));
  for (let lane = 0; lane < replay.laneCount; lane++) {
    const y = top + lane * laneHeight - view.scroll + (laneHeight - barHeight) / 2;
    if (y + barHeight < top || y > height - axis) continue;
    drawLane(context, view, lane, y, { fills, pale, critical, text: css(theme.text) });
  }
  view.arrows = view.kind === "page" ? drawArrows(context, view, css) : 0;
  context.restore();
  if (selected >= 0) outline(context, view, css(theme.accent));
  drawFrame(context, view, css, matches);
}

function drawIdle(context, view, css, bottom) {
  const { replay, theme, layout } = view;
  context.fillStyle = css(mix(theme.background, theme.muted, 0.16));
  for (const [from, to] of replay.idle) {
    const x0 = view.x(from);
    const x1 = view.x(to);
    if (x1 < layout.left || x0 > view.width || x1 - x0 < 0.5) continue;
    context.fillRect(x0, layout.top - 2, x1 - x0, bottom - layout.top + 4);
  }
}

function drawLane(context, view, lane, y, paint) {
  const { replay, layout, width, matches } = view;
  const { barHeight } = layout;
  const last = replay.laneStart[lane + 1];
  const end = view.time(width);
  let i = replay.firstEndingAfter(lane, view.time(layout.left));
  const sums = new Float64Array(replay.types.length);
  while (i < last && replay.start[i] <= end) {
    const x0 = view.x(replay.start[i]);
    const x1 = view.x(replay.end[i]);
    if (x1 - x0 >= 1.5) {
      const loud = !matches || matches.has(replay.path[i]);
      const w = Math.max(1, x1 - x0 - (x1 - x0 > 4 ? 1 : 0));
      context.fillStyle = (loud ? paint.fills : paint.pale)[replay.typeIndex[i]];
      context.fillRect(x0, y, w, barHeight);
      if (replay.critical[i] && barHeight >= 6) {
        context.fillStyle = paint.critical;
        context.fillRect(x0, y + barHeight - 3, w, 3);
      }
      if (w >= SMALLEST_LABEL && barHeight >= 14) label(context, view, i, x0, y, w, loud);
      i++;
      continue;
    }
    // All that ends within this pixel, as what takes most of it.
    sums.fill(0);
    const pixel = Math.floor(x0) + 1;
    let best = replay.typeIndex[i];
    let loud = false;
    let marked = false;
    let reach = x1;
    for (; i < last; i++) {
      const from = view.x(replay.start[i]);
      const to = view.x(replay.end[i]);
      if (from >= pixel || to - from >= 1.5) break;
      const type = replay.typeIndex[i];
      sums[type] += to - from;
      if (sums[type] > sums[best]) best = type;
      loud = loud || !matches || matches.has(replay.path[i]);
      marked = marked || replay.critical[i];
      reach = Math.max(reach, to);
    }
    context.fillStyle = (loud ? paint.fills : paint.pale)[best];
    const w = Math.max(1, reach - x0);
    context.fillRect(x0, y, w, barHeight);
    if (marked && barHeight >= 6) {
      context.fillStyle = paint.critical;
      context.fillRect(x0, y + barHeight - 3, w, 3);
    }
  }
}

function label(context, view, i, x, y, width, loud) {
  const { theme, layout } = view;
  const from = Math.max(x, layout.left);
  const room = x + width - from - 8;
  if (room < SMALLEST_LABEL - 8) return;
  const text = fitted(context, view.replay.label(i), room);
  if (!text) return;
  const fill = mix(theme.background, entryColour(theme, view.replay.types[view.replay.typeIndex[i]]), 0.8);
  const bright = fill[0] * 0.3 + fill[1] * 0.59 + fill[2] * 0.11 > 128;
  context.fillStyle = !loud ? cssOf(pack(theme.muted)) : bright ? "#16191d" : "#ffffff";
  context.fillText(text, from + 4, y + (layout.barHeight - 2) / 2);
}

/** A text, or as much of it as fits with an ellipsis. */
function fitted(context, text, room) {
  const per = context.measureText("0").width;
  const fits = Math.floor(room / per);
  if (text.length <= fits) return text;
  return fits > 3 ? `${text.slice(0, fits - 1)}…` : "";
}

function outline(context, view, colour) {
  const { replay, selected, layout, height, width } = view;
  const y = layout.top + replay.lane[selected] * layout.laneHeight - view.scroll;
  const x0 = view.x(replay.start[selected]);
  const x1 = Math.max(view.x(replay.end[selected]), x0 + 3);
  if (x1 < layout.left || x0 > width || y + layout.laneHeight < layout.top || y > height - layout.axis) return;
  context.strokeStyle = colour;
  context.lineWidth = 2;
  const from = Math.max(x0, layout.left) - 1;
  context.strokeRect(from, y + (layout.laneHeight - layout.barHeight) / 2 - 1, x1 - from + 1, layout.barHeight + 2);
}

function drawFrame(context, view, css) {
  const { replay, theme, layout, width, height } = view;
  const { left, top, axis, laneHeight } = layout;
  context.fillStyle = css(theme.background);
  context.fillRect(0, 0, left, height);
  context.fillStyle = css(theme.muted);
  context.textAlign = "right";
  const every = Math.max(1, Math.ceil(13 / laneHeight));
  for (let lane = 0; lane < replay.laneCount; lane += every) {
    const y = top + (lane + 0.5) * laneHeight - view.scroll;
    if (y > top - 4 && y < height - axis - 2) context.fillText(replay.lanes[lane], left - 8, y);
  }
  context.textAlign = "left";
  context.strokeStyle = css(mix(theme.background, theme.muted, 0.5));
  context.lineWidth = 1;
  const base = Math.round(height - axis) + 0.5;
  context.fillStyle = css(theme.background);
  context.fillRect(0, base, width, axis);
  context.beginPath();
  context.moveTo(left, base);
  context.lineTo(width, base);
  const { times, digits } = ticks(view.time(left), view.time(width), replay.scale, (width - left) / 110);
  for (const time of times) {
    const x = Math.round(view.x(time)) + 0.5;
    context.moveTo(x, base);
    context.lineTo(x, base + 4);
  }
  context.stroke();
  context.fillStyle = css(theme.muted);
  const unit = replay.unit;
  const room = context.measureText(`${unit} `).width + 8;
  context.fillText(unit, width - room + 4, base + axis / 2 + 1);
  context.textAlign = "center";
  for (const time of times) {
    const x = view.x(time);
    const text = (time / replay.scale).toFixed(digits);
    const half = context.measureText(text).width / 2;
    if (x - half > left - 10 && x + half < width - room) context.fillText(text, x, base + axis / 2 + 1);
  }
  context.textAlign = "left";
}
