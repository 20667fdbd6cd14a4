// The fallback where WebGL2 is missing: the same draw list on a 2D canvas.

import { cssOf } from "./theme.mjs";

export class Canvas2DRenderer {
  name = "canvas2d";

  constructor(canvas) {
    this.context = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
    this.styles = new Map();
  }

  restore() {}

  dispose() {}

  #style(packed) {
    let style = this.styles.get(packed);
    if (!style) {
      if (this.styles.size > 4096) this.styles.clear();
      this.styles.set(packed, (style = cssOf(packed)));
    }
    return style;
  }

  draw(list, width, height, ratio) {
    const { context } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [r, g, b] = list.background;
    context.fillStyle = `rgb(${r},${g},${b})`;
    context.fillRect(0, 0, width, height);
    this.#lines(list.lines);
    this.#boxes(list);
    this.#boxes({ boxes: list.plates, radius: 0 });
    this.#texts(list.texts);
  }

  #texts(texts) {
    const { context } = this;
    context.textBaseline = "middle";
    for (const { text, x, y, font, colour } of texts) {
      if (context.font !== font) context.font = font;
      context.fillStyle = this.#style(colour);
      context.fillText(text, x, y);
    }
  }

  #lines({ count, words, float, uint }) {
    const { context } = this;
    for (let k = 0, at = 0; k < count; ) {
      const colour = uint[at + 6];
      const width = float[at + 4];
      const tapers = float[at + 5] !== width;
      context.beginPath();
      // One path for as many lines as look the same: strokes are what is slow here.
      do {
        if (tapers) this.#taper(float, at);
        else {
          context.moveTo(float[at], float[at + 1]);
          context.lineTo(float[at + 2], float[at + 3]);
        }
        k++;
        at += words;
      } while (
        k < count &&
        uint[at + 6] === colour &&
        float[at + 4] === width &&
        (float[at + 5] !== width) === tapers
      );
      if (tapers) {
        context.fillStyle = this.#style(colour);
        context.fill();
      } else {
        context.strokeStyle = this.#style(colour);
        context.lineWidth = width;
        context.stroke();
      }
    }
  }

  #taper(float, at) {
    const [x0, y0, x1, y1, w0, w1] = float.subarray(at, at + 6);
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const [nx, ny] = [-(y1 - y0) / length / 2, (x1 - x0) / length / 2];
    this.context.moveTo(x0 + nx * w0, y0 + ny * w0);
    this.context.lineTo(x0 - nx * w0, y0 - ny * w0);
    this.context.lineTo(x1 - nx * w1, y1 - ny * w1);
    this.context.lineTo(x1 + nx * w1, y1 + ny * w1);
  }

  #boxes({ boxes: { count, words, float, uint }, radius, border, bar }) {
    const { context } = this;
    let last = -1;
    for (let k = 0, at = 0; k < count; k++, at += words) {
      const x = float[at];
      const y = float[at + 1];
      const w = float[at + 2];
      const h = float[at + 3];
      if (uint[at + 4] !== last || radius) context.fillStyle = this.#style((last = uint[at + 4]));
      if (!radius) {
        context.fillRect(x, y, w, h);
        continue;
      }
      context.beginPath();
      context.roundRect(x + border / 2, y + border / 2, w - border, h - border, radius);
      context.fill();
      context.strokeStyle = this.#style(uint[at + 5]);
      context.lineWidth = border;
      context.stroke();
      if (bar) {
        context.fillStyle = this.#style(uint[at + 5]);
        context.fillRect(x, y + radius / 2, bar, h - radius);
      }
    }
  }
}
