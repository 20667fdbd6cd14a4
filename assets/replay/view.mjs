// One mounted replay: its canvas, what part of it is shown, and what the pointer does.

import { readTheme } from "../canvas/theme.mjs";
import { draw } from "./draw.mjs";

const AXIS = 20; // px
const LEFT = 84;
const LANE = { strip: 28, page: 44 }; // px of a lane where there is room
const THINNEST = { strip: 4, page: 14 };

export class ReplayView {
  constructor(host, emit) {
    this.host = host;
    this.emit = emit;
    this.onMove = null; // called with what is shown, so that a linked replay can follow
    this.kind = host.dataset.kind === "strip" ? "strip" : "page";
    this.replay = null;
    this.selected = -1;
    this.matches = null;
    this.scroll = 0;
    this.canvas = document.createElement("canvas");
    this.canvas.className = "cgreplay-canvas";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.tip = document.createElement("div");
    this.tip.className = "cglens-tooltip";
    this.tip.hidden = true;
    this.name = document.createElement("div");
    this.name.className = "cglens-tooltip-name";
    this.facts = document.createElement("div");
    this.facts.className = "cglens-tooltip-facts";
    this.tip.append(this.name, this.facts);
    host.classList.add("cglens-canvas", "cgreplay");
    host.append(this.canvas, this.tip);
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.theme = readTheme(host);
    this.sizes = new ResizeObserver(() => this.#resize());
    this.sizes.observe(host);
    this.themes = new MutationObserver(() => {
      this.theme = readTheme(host);
      this.invalidate();
    });
    this.themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });
    this.#listen();
    this.#resize();
  }

  show(replay) {
    this.replay = replay;
    this.from = replay.first;
    this.to = Math.max(replay.last, replay.first + 1);
    this.canvas.setAttribute(
      "aria-label",
      `The sample replay in time: ${replay.count} runs on ${replay.laneCount} hardware streams in ${replay.span}`,
    );
    this.#arrange();
    this.invalidate();
  }

  dispose() {
    this.sizes.disconnect();
    this.themes.disconnect();
    if (this.pending) cancelAnimationFrame(this.pending);
  }

  // Time and place.

  x(time) {
    const { left } = this.layout;
    return left + ((time - this.from) / (this.to - this.from)) * (this.width - left - 8);
  }

  time(x) {
    const { left } = this.layout;
    return this.from + ((x - left) / (this.width - left - 8)) * (this.to - this.from);
  }

  #resize() {
    this.width = this.host.clientWidth;
    this.height = this.host.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.width * ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * ratio));
    this.ratio = ratio;
    this.#arrange();
    // A canvas that was resized is empty: draw at once, not in the next frame.
    this.#draw();
  }

  #arrange() {
    if (!this.replay) return;
    const top = 6;
    const room = this.height - AXIS - top - 4;
    const laneHeight = Math.min(LANE[this.kind], Math.max(THINNEST[this.kind], room / this.replay.laneCount));
    this.layout = {
      left: LEFT, top, axis: AXIS, laneHeight,
      barHeight: Math.max(2, laneHeight - (laneHeight > 10 ? 4 : 1)),
    };
    this.furthest = Math.max(0, this.replay.laneCount * laneHeight - room);
    this.scroll = Math.min(this.scroll, this.furthest);
  }

  invalidate() {
    this.pending ??= requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    if (this.pending) cancelAnimationFrame(this.pending);
    this.pending = null;
    if (!this.replay || this.width <= LEFT || !this.height) return;
    const start = performance.now();
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.font = `500 11px ${this.theme.font}`;
    this.context.textBaseline = "middle";
    draw(this.context, this);
    this.frameMs = performance.now() - start;
  }

  // What is shown.

  zoom(factor, at = this.width / 2) {
    if (!this.replay) return;
    const time = this.time(Math.max(at, this.layout.left));
    const full = Math.max(this.replay.last - this.replay.first, 1);
    const span = Math.min(full, Math.max((this.to - this.from) / factor, Math.min(full, 200)));
    const share = (time - this.from) / (this.to - this.from);
    this.#place(time - share * span, span);
  }

  pan(pixels) {
    if (!this.replay) return;
    const span = this.to - this.from;
    this.#place(this.from - (pixels / (this.width - this.layout.left - 8)) * span, span);
  }

  #place(from, span) {
    const { first, last } = this.replay;
    this.from = Math.max(first, Math.min(from, Math.max(last, first + 1) - span));
    this.to = this.from + span;
    this.invalidate();
    this.onMove?.({ offset: this.from - first, span });
  }

  /** Show the part that a linked replay shows. */
  follow({ offset, span }) {
    if (!this.replay) return;
    this.from = this.replay.first + offset;
    this.to = this.from + span;
    this.invalidate();
  }

  fit() {
    if (this.replay) this.#place(this.replay.first, Math.max(this.replay.last - this.replay.first, 1));
  }

  /** Bring a bar into view, if it is not. */
  reveal(i) {
    const { start, end } = this.replay;
    if (end[i] > this.from && start[i] < this.to) return;
    this.#place((start[i] + end[i]) / 2 - (this.to - this.from) / 2, this.to - this.from);
  }

  select(path) {
    const i = this.replay && path !== null ? (this.replay.byPath.get(path) ?? -1) : -1;
    if (i === this.selected) return;
    this.selected = i;
    if (i >= 0) this.reveal(i);
    this.invalidate();
  }

  match(paths) {
    this.matches = paths ? new Set(paths) : null;
    this.invalidate();
  }

  pick(px, py) {
    if (!this.replay || px < this.layout.left) return -1;
    const { top, laneHeight, axis } = this.layout;
    const lane = Math.floor((py - top + this.scroll) / laneHeight);
    if (lane < 0 || lane >= this.replay.laneCount || py > this.height - axis) return -1;
    const within = (2 / (this.width - this.layout.left)) * (this.to - this.from);
    return this.replay.at(lane, this.time(px), within);
  }

  /** Where a bar is, for tests: the middle of its visible part. */
  place(path) {
    const i = this.replay.byPath.get(path);
    const x0 = Math.max(this.x(this.replay.start[i]), this.layout.left);
    const x1 = Math.min(this.x(this.replay.end[i]), this.width);
    return [(x0 + x1) / 2, this.layout.top + (this.replay.lane[i] + 0.5) * this.layout.laneHeight - this.scroll];
  }

  // The pointer and the keys.

  #listen() {
    const { canvas } = this;
    let last = null;
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      last = event.clientX;
      moved = 0;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const { offsetX: x, offsetY: y } = event;
      if (last === null) return this.#hover(x, y);
      moved += Math.abs(event.clientX - last);
      if (moved > 3) {
        this.tip.hidden = true;
        this.pan(event.clientX - last);
      }
      last = event.clientX;
    });
    canvas.addEventListener("pointerup", (event) => {
      if (last !== null && moved <= 3) this.#click(event.offsetX, event.offsetY);
      last = null;
    });
    canvas.addEventListener("pointercancel", () => (last = null));
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener("dblclick", (event) => {
      const i = this.pick(event.offsetX, event.offsetY);
      if (i < 0) return this.fit();
      const span = Math.max((this.replay.end[i] - this.replay.start[i]) * 12, 200);
      this.#place((this.replay.start[i] + this.replay.end[i] - span) / 2, Math.min(span, this.replay.last - this.replay.first));
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.pan(-(event.deltaX || event.deltaY));
      } else if (this.furthest && event.altKey) {
        this.scroll = Math.min(this.furthest, Math.max(0, this.scroll + event.deltaY));
        this.invalidate();
      } else this.zoom(Math.exp(-event.deltaY * 0.0016), event.offsetX);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const act = {
        "+": () => this.zoom(1.5), "=": () => this.zoom(1.5), "-": () => this.zoom(1 / 1.5),
        ArrowLeft: () => this.#step(-1), ArrowRight: () => this.#step(1),
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    });
  }

  #step(by) {
    if (!this.replay?.count) return;
    const i = this.selected < 0 ? 0 : this.selected + by;
    if (i >= 0 && i < this.replay.count && this.replay.path[i]) this.emit(this.replay.path[i]);
  }

  #click(px, py) {
    this.canvas.focus({ preventScroll: true });
    const i = this.pick(px, py);
    this.emit(i >= 0 && this.replay.path[i] ? this.replay.path[i] : null);
  }

  #hover(px, py) {
    const i = this.pick(px, py);
    this.canvas.style.cursor = i >= 0 ? "pointer" : "";
    this.tip.hidden = i < 0;
    if (i < 0) return;
    const { replay } = this;
    this.name.textContent = replay.label(i);
    this.facts.textContent = [
      replay.texts[replay.textIndex[i]],
      replay.types[replay.typeIndex[i]].name,
      replay.path[i] ? `node ${replay.shown?.[i] ?? replay.path[i]}` : "",
      replay.lanes[replay.lane[i]],
      replay.critical[i] ? "on the critical path" : "",
    ].filter(Boolean).join(" · ");
    const { offsetWidth, offsetHeight } = this.tip;
    const left = px + 14 + offsetWidth > this.width ? px - 14 - offsetWidth : px + 14;
    // A strip is lower than its tooltip: above it there is room.
    const top = py + 18 + offsetHeight > this.height ? py - 12 - offsetHeight : py + 18;
    this.tip.style.transform = `translate(${Math.max(4, left)}px, ${top}px)`;
  }
}
