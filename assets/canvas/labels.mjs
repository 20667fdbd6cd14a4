// Names in boxes and headers of bands, added to the draw list as texts.

import { mix, pack } from "./theme.mjs";

const SMALLEST_BOX = { plain: 11, dense: 9 }; // px; below it a name cannot be read
const NARROWEST_BOX = 34;
const NARROWEST_LANE = 50;
const MOST_LABELS = 3000;
const HEADER_LINE = 14; // px
const HEADER_HEIGHT = 23; // px of the bar in which headers stay when their bands scroll past
const ENTER_MARK = "\u25b8"; // a triangle that says: this node has a body to enter

export class Labels {
  constructor() {
    this.context = document.createElement("canvas").getContext("2d");
    this.widths = new Map(); // font -> widths of ASCII characters
    this.cut = new Map(); // label, room and font -> text that fits
  }

  /** Add the texts of one frame to a built list. */
  add(list, scene, camera, theme, state, ratio) {
    const boxHeight = scene.cell.boxHeight * camera.scale;
    const boxWidth = scene.cell.boxWidth * camera.scale;
    const readable = boxHeight >= SMALLEST_BOX[ratio >= 1.5 ? "dense" : "plain"] && boxWidth >= NARROWEST_BOX;
    const lanes = scene.header.laneLabels && scene.cell.width * camera.scale > NARROWEST_LANE;
    const lines = (scene.bands > 1 ? 1 : 0) + (lanes ? 1 : 0);
    const bar = HEADER_HEIGHT + (lines - 1) * HEADER_LINE;
    const barred = lines > 0 && camera.toScreen(0, 0)[1] < bar - 4;
    if (barred) list.plate(0, 0, camera.width, bar, pack(theme.background));
    this.covered = barred ? bar + 4 : -Infinity;
    if (readable && list.visible.length <= MOST_LABELS) {
      this.#names(list, scene, camera, theme, state, boxWidth, boxHeight);
    }
    if (scene.bands > 1) this.#headers(list, scene, camera, theme, lanes ? HEADER_LINE : 0);
    if (lanes) this.#lanes(list, scene, camera, theme, bar);
  }

  #lanes(list, scene, camera, theme, bar) {
    const font = `500 11px ${theme.font}`;
    const widths = this.measure(font);
    const inset = ((scene.cell.width - scene.cell.boxWidth) / 2) * camera.scale;
    const top = camera.toScreen(0, 0)[1];
    for (let c = Math.max(0, scene.columnAt(camera.window().left)); c < scene.columns; c++) {
      const x = camera.toScreen(scene.columnLeft[c], 0)[0] + inset;
      if (x > camera.width) break;
      const room = scene.cell.boxWidth * camera.scale;
      const text = cut(scene.header.laneLabels[c], room, widths);
      if (text) list.text(text, x, Math.max(bar - 11, top - 10), font, pack(theme.muted));
    }
  }

  #names(list, scene, camera, theme, state, boxWidth, boxHeight) {
    const size = Math.round(Math.min(14, Math.max(boxHeight < 11 ? 7.5 : 8.5, boxHeight * 0.5)) * 2) / 2;
    const pad = Math.max(4, boxHeight * 0.34);
    const font = `500 ${size}px ${theme.font}`;
    const widths = this.measure(font);
    const loud = pack(theme.text);
    const dim = pack(mix(theme.background, theme.text, 0.4));
    for (const i of list.visible) {
      const [x, y] = camera.toScreen(scene.x[i], scene.y[i]);
      if (y < this.covered) continue;
      const left = x - boxWidth / 2;
      const colour = state.emphasis[i] === 1 ? dim : loud;
      let room = boxWidth - 2 * pad;
      if (scene.bodies[i]) {
        list.text(ENTER_MARK, left + boxWidth - pad - widths[109], y, font, colour);
        room -= widths[109] + 2;
      }
      const text = this.#fit(scene, i, room, font, widths);
      if (text) list.text(text, left + pad + 1, y, font, colour);
    }
  }

  #headers(list, scene, camera, theme, raised) {
    const font = `500 11px ${theme.font}`;
    const widths = this.measure(font);
    const muted = pack(theme.muted);
    const inset = ((scene.cell.width - scene.cell.boxWidth) / 2) * camera.scale;
    let free = -Infinity; // right end of the last header
    for (let b = 0; b < scene.bands; b++) {
      const [left, top] = camera.toScreen(scene.bandLeft[b], 0);
      const [right, bottom] = camera.toScreen(scene.bandRight[b], scene.bandBottom[b]);
      if (right < 0 || left > camera.width || bottom < 24 || top > camera.height) continue;
      const from = Math.max(4, left + inset);
      const next = b + 1 < scene.bands ? camera.toScreen(scene.bandLeft[b + 1], 0)[0] : camera.width;
      const [low, high] = [scene.firstLevel[b], scene.lastLevel[b]];
      const span = low === high ? `${low}` : `${low}\u2013${high}`;
      const text = [`level${low === high ? "" : "s"} ${span}`, span, `${low}`].find(
        (t) => from + widthOf(t, widths) <= Math.min(camera.width - 4, next + inset - 10),
      );
      if (!text || from < free + 8) continue;
      free = from + widthOf(text, widths);
      list.text(text, from, Math.max(12, top - 10 - raised), font, muted);
    }
  }

  /** Widths of ASCII characters in a font. */
  measure(font) {
    let widths = this.widths.get(font);
    if (!widths) {
      this.context.font = font;
      widths = new Float32Array(128);
      for (let code = 32; code < 127; code++) {
        widths[code] = this.context.measureText(String.fromCharCode(code)).width;
      }
      this.widths.set(font, widths);
    }
    return widths;
  }

  /** The label, or as much of it as fits with an ellipsis. */
  #fit(scene, i, room, font, widths) {
    const key = `${scene.labelIndex[i]}/${Math.round(room)}/${font}`;
    if (this.scene !== scene || this.cut.size > 20000) this.cut.clear();
    this.scene = scene;
    let text = this.cut.get(key);
    if (text !== undefined) return text;
    text = cut(scene.label(i), room, widths);
    this.cut.set(key, text);
    return text;
  }
}

/** About how wide a text is, in px. */
export function widthOf(text, widths) {
  return [...text].reduce((sum, c) => sum + (widths[c.codePointAt(0)] || widths[48]), 0);
}

/** A text, or as much of it as fits with an ellipsis; nothing where two characters do not fit. */
export function cut(text, room, widths) {
  const label = text.replace(/\s+/g, " ");
  const dots = widths[46] * 2.6;
  let width = 0;
  let fits = 0; // characters that fit before an ellipsis
  for (let k = 0; k < label.length && width <= room; k++) {
    const code = label.charCodeAt(k);
    width += code < 128 ? widths[code] : widths[87];
    if (width + dots <= room) fits = k + 1;
  }
  return width <= room ? label : fits > 1 ? label.slice(0, fits).trimEnd() + "\u2026" : "";
}
