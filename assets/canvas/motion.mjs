// Moving the camera: at once for the hand, eased for jumps that the page makes.

const EASE_MS = 160;

export class Motion {
  /** `draw` draws now, `invalidate` with the next frame; `moved` is called after each move. */
  constructor(camera, { draw, invalidate, moved }) {
    this.camera = camera;
    this.draw = draw;
    this.invalidate = () => {
      invalidate();
      moved();
    };
    this.moved = moved;
    this.frame = null;
  }

  pan(dx, dy) {
    this.stop();
    this.camera.panBy(dx, dy);
    this.invalidate();
  }

  zoom(px, py, factor) {
    this.stop();
    this.camera.zoomAbout(px, py, factor);
    this.invalidate();
  }

  jump(goal) {
    this.stop();
    this.camera.set(goal);
    this.invalidate();
  }

  ease(goal) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.jump(goal);
      return;
    }
    this.stop();
    const { x, y, scale } = this.camera;
    const begin = performance.now();
    const step = (now) => {
      const t = Math.min(1, Math.max(0, (now - begin) / EASE_MS));
      const s = 1 - (1 - t) ** 3;
      this.camera.set({
        x: x + (goal.x - x) * s,
        y: y + (goal.y - y) * s,
        scale: scale * (goal.scale / scale) ** s,
      });
      this.frame = t < 1 ? requestAnimationFrame(step) : null;
      this.draw();
      this.moved();
    };
    this.frame = requestAnimationFrame(step);
  }

  stop() {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = null;
  }
}
