// Which part of the world is on the screen.

const MAX_SCALE = 4;
const FIT_SCALE = 1.5; // a graph of three nodes need not fill the screen
const ROOM = { side: 20, top: 10, bottom: 48 }; // px around a fitted picture; buttons are below

export class Camera {
  x = 0;
  y = 0;
  scale = 1;
  width = 1;
  height = 1;
  bounds = { left: 0, top: 0, right: 1, bottom: 1 };

  setBounds(left, top, right, bottom) {
    this.bounds = { left, top, right, bottom };
  }

  resize(width, height) {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
  }

  get fitScale() {
    const { left, top, right, bottom } = this.bounds;
    return Math.min(
      FIT_SCALE,
      Math.max(1, this.width - 2 * ROOM.side) / Math.max(1, right - left),
      Math.max(1, this.height - ROOM.top - ROOM.bottom) / Math.max(1, bottom - top),
    );
  }

  fitted() {
    const { left, top, right, bottom } = this.bounds;
    const scale = this.fitScale;
    const lower = (ROOM.bottom - ROOM.top) / 2 / scale;
    return { x: (left + right) / 2, y: (top + bottom) / 2 + lower, scale };
  }

  set({ x, y, scale }) {
    this.scale = Math.min(MAX_SCALE, Math.max(this.fitScale * 0.6, scale));
    const { left, top, right, bottom } = this.bounds;
    const spareX = (this.width / this.scale) * 0.4;
    const spareY = (this.height / this.scale) * 0.4;
    this.x = clampTo(x, left - spareX, right + spareX, this.width / this.scale);
    this.y = clampTo(y, top - spareY, bottom + spareY, this.height / this.scale);
  }

  toScreen(x, y) {
    return [(x - this.x) * this.scale + this.width / 2, (y - this.y) * this.scale + this.height / 2];
  }

  toWorld(px, py) {
    return [(px - this.width / 2) / this.scale + this.x, (py - this.height / 2) / this.scale + this.y];
  }

  panBy(dx, dy) {
    this.set({ x: this.x - dx / this.scale, y: this.y - dy / this.scale, scale: this.scale });
  }

  zoomAbout(px, py, factor) {
    const [wx, wy] = this.toWorld(px, py);
    const scale = Math.min(MAX_SCALE, Math.max(this.fitScale * 0.6, this.scale * factor));
    this.set({
      x: wx - (px - this.width / 2) / scale,
      y: wy - (py - this.height / 2) / scale,
      scale,
    });
  }

  /** Visible part of the world. */
  window() {
    const halfW = this.width / 2 / this.scale;
    const halfH = this.height / 2 / this.scale;
    return { left: this.x - halfW, right: this.x + halfW, top: this.y - halfH, bottom: this.y + halfH };
  }

  get showsAll() {
    const w = this.window();
    const { left, top, right, bottom } = this.bounds;
    return w.left <= left && w.right >= right && w.top <= top && w.bottom >= bottom;
  }
}

/** Keep the centre such that the picture cannot be pushed off the screen. */
function clampTo(value, low, high, view) {
  const from = low + view / 2;
  const to = high - view / 2;
  return from > to ? Math.min(from, Math.max(to, value)) : Math.min(to, Math.max(from, value));
}
