// Texts drawn once and kept as coverage in a texture: a second full-size canvas for names cost
// more per frame than everything else on software WebGL.

export const ATLAS_WIDTH = 2048;
export const ATLAS_HEIGHT = 2048;
const PAD = 2; // px around a text, so that slanted ends are not cut

export class TextAtlas {
  constructor() {
    const canvas = document.createElement("canvas");
    canvas.width = ATLAS_WIDTH;
    canvas.height = 96;
    this.context = canvas.getContext("2d", { willReadFrequently: true });
    this.coverage = new Uint8Array(ATLAS_WIDTH * ATLAS_HEIGHT);
    this.clear();
  }

  clear() {
    this.slots = new Map();
    this.top = this.left = this.height = 0;
    this.coverage.fill(0);
    this.dirty = [0, 0];
  }

  /** Where a text is in the atlas, in device pixels; null if there is no room. */
  slot(text, font, ratio) {
    const key = `${font}|${ratio}|${text}`;
    let slot = this.slots.get(key);
    if (slot === undefined) {
      slot = this.#draw(text, font, ratio);
      this.slots.set(key, slot);
    }
    return slot;
  }

  #draw(text, font, ratio) {
    const { context } = this;
    const pixels = parseFloat(font.split(" ")[1]) * ratio;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.font = font.replace(/[\d.]+px/, `${pixels}px`);
    context.textBaseline = "middle";
    context.fillStyle = "#fff";
    const width = Math.min(ATLAS_WIDTH, Math.ceil(context.measureText(text).width) + 2 * PAD);
    const height = Math.min(96, Math.ceil(pixels * 1.5));
    if (this.left + width > ATLAS_WIDTH || height > this.height) {
      this.top += this.height;
      this.left = 0;
      this.height = height;
    }
    if (this.top + height > ATLAS_HEIGHT) return null;
    context.clearRect(0, 0, width, height);
    context.fillText(text, PAD, height / 2);
    const { data } = context.getImageData(0, 0, width, height);
    for (let y = 0, from = 3; y < height; y++) {
      let to = (this.top + y) * ATLAS_WIDTH + this.left;
      for (let x = 0; x < width; x++, from += 4) this.coverage[to++] = data[from];
    }
    const slot = { x: this.left, y: this.top, width, height, pad: PAD };
    this.left += width;
    const [from, to] = this.dirty;
    this.dirty =
      to > from
        ? [Math.min(from, slot.y), Math.max(to, slot.y + height)]
        : [slot.y, slot.y + height];
    return slot;
  }
}
