// The fallback where WebGL2 is missing: the same draw list on a 2D canvas.

import { cssOf } from "./theme.mjs";

export class Canvas2DRenderer {
  name = "canvas2d";

  constructor(canvas) {
    this.context = canvas.getContext("2d", { alpha: false });
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
    for (let k = 0, at = 0; k < count; k++, at += words) {
      const style = this.#style(uint[at + 6]);
      const [x0, y0, x1, y1, w0, w1] = float.subarray(at, at + 6);
      context.beginPath();
      if (w0 === w1) {
        context.strokeStyle = style;
        context.lineWidth = w0;
        context.moveTo(x0, y0);
        context.lineTo(x1, y1);
        context.stroke();
      } else {
        const length = Math.hypot(x1 - x0, y1 - y0) || 1;
        const [nx, ny] = [-(y1 - y0) / length / 2, (x1 - x0) / length / 2];
        context.fillStyle = style;
        context.moveTo(x0 + nx * w0, y0 + ny * w0);
        context.lineTo(x0 - nx * w0, y0 - ny * w0);
        context.lineTo(x1 - nx * w1, y1 - ny * w1);
        context.lineTo(x1 + nx * w1, y1 + ny * w1);
        context.fill();
      }
    }
  }

  #boxes({ boxes: { count, words, float, uint }, radius, border, bar }) {
    const { context } = this;
    for (let k = 0, at = 0; k < count; k++, at += words) {
      const [x, y, w, h] = float.subarray(at, at + 4);
      context.fillStyle = this.#style(uint[at + 4]);
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
