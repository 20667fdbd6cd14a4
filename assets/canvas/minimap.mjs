// The whole picture in a corner, with the part that is on the screen; shown when not all is.

import { DrawList } from "./drawlist.mjs";
import { Canvas2DRenderer } from "./draw2d.mjs";
import { Camera } from "./camera.mjs";

const LONGEST = 170; // px
const SHARE = 0.25; // of the canvas, where that is less

export class Minimap {
  constructor(parent, onMove) {
    this.box = document.createElement("div");
    this.box.className = "cglens-minimap";
    this.box.setAttribute("aria-hidden", "true");
    this.canvas = document.createElement("canvas");
    this.frame = document.createElement("div");
    this.frame.className = "cglens-minimap-frame";
    this.box.append(this.canvas, this.frame);
    parent.append(this.box);
    this.list = new DrawList();
    this.camera = new Camera();
    this.renderer = new Canvas2DRenderer(this.canvas);
    this.drawn = "";
    const move = (event) => {
      if (!(event.buttons & 1)) return;
      event.preventDefault();
      event.stopPropagation();
      const { left, top } = this.canvas.getBoundingClientRect();
      onMove(...this.camera.toWorld(event.clientX - left, event.clientY - top));
    };
    this.box.addEventListener("pointerdown", (event) => {
      this.box.setPointerCapture(event.pointerId);
      move(event);
    });
    this.box.addEventListener("pointermove", move);
  }

  update(scene, camera, theme, state, key, ratio) {
    const hidden = camera.showsAll || !scene.nodes;
    this.box.hidden = hidden;
    if (hidden) return;
    const longest = Math.max(60, Math.min(LONGEST, Math.round(camera.width * SHARE)));
    this.#draw(scene, theme, state, `${key}/${state.version}/${longest}`, ratio, longest);
    const view = camera.window();
    const [left, top] = this.camera.toScreen(view.left, view.top);
    const [right, bottom] = this.camera.toScreen(view.right, view.bottom);
    const clamp = (v, high) => Math.min(high, Math.max(0, v));
    const { style } = this.frame;
    style.left = `${clamp(left, this.camera.width - 3)}px`;
    style.top = `${clamp(top, this.camera.height - 3)}px`;
    style.width = `${Math.max(3, clamp(right, this.camera.width) - clamp(left, this.camera.width))}px`;
    style.height = `${Math.max(3, clamp(bottom, this.camera.height) - clamp(top, this.camera.height))}px`;
  }

  #draw(scene, theme, state, key, ratio, longest) {
    if (this.drawn === key && this.scene === scene) return;
    this.drawn = key;
    this.scene = scene;
    const scale = longest / Math.max(scene.width, scene.height);
    const width = Math.max(30, Math.round(scene.width * scale) + 8);
    const height = Math.max(30, Math.round(scene.height * scale) + 8);
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.camera.resize(width, height);
    Object.assign(this.camera, { x: scene.width / 2, y: scene.height / 2, scale });
    this.list.build(scene, this.camera, theme, { ...state, selected: -1 }, { lines: false });
    this.renderer.draw(this.list, width, height, ratio);
  }
}
