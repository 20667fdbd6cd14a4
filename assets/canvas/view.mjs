// One mounted canvas: its elements, its state, and when it draws.

import { Camera } from "./camera.mjs";
import { DrawList } from "./drawlist.mjs";
import { WebGLRenderer } from "./draw.mjs";
import { Canvas2DRenderer } from "./draw2d.mjs";
import { buildElements } from "./elements.mjs";
import { Emphasis } from "./emphasis.mjs";
import { addFlows } from "./flows.mjs";
import { addGroups } from "./groups.mjs";
import { listen } from "./input.mjs";
import { Labels } from "./labels.mjs";
import { addMarks } from "./marks.mjs";
import { Link } from "./link.mjs";
import { shiftsFor } from "./lod.mjs";
import { Minimap } from "./minimap.mjs";
import { Motion } from "./motion.mjs";
import { nodeAt, neighbourInDirection } from "./pick.mjs";
import { WRAP_MARGIN } from "./routes.mjs";
import { readTheme } from "./theme.mjs";
import { Tooltip } from "./tooltip.mjs";

const HEADER_ROOM = 24; // world units over the first row, for the headers of bands
const HEADER_LINE = 16;
const READABLE = 0.6; // scale from which names are legible

export class View {
  constructor(host, emit) {
    this.host = host;
    this.emit = emit; // (kind, detail) -> void
    this.link = host.dataset.link ? Link.of(host.dataset.link) : null;
    this.link?.add(this);
    this.scene = null;
    this.camera = new Camera();
    this.list = new DrawList();
    this.state = new Emphasis();
    this.state.dimsOnSelect = !this.link;
    this.motion = new Motion(this.camera, {
      draw: () => this.drawNow(),
      invalidate: () => this.invalidate(),
      moved: () => this.link?.moved(this),
    });
    this.frames = 0;
    this.frameMs = 0;
    this.#build();
    this.theme = readTheme(host);
    this.#watch();
    listen(this.canvas, this);
  }

  #build() {
    const { host } = this;
    host.classList.add("cglens-canvas");
    Object.assign(
      this,
      buildElements({
        "+": ["Zoom in (+)", () => this.zoomCentre(1.5)],
        "\u2212": ["Zoom out (-)", () => this.zoomCentre(1 / 1.5)],
        Fit: ["Fit the whole graph (f)", () => this.fit()],
      }),
    );
    host.append(this.root);
    this.minimap = new Minimap(this.root, (x, y) => this.centreOn(x, y));
    this.tooltip = new Tooltip(this.root);
    this.labels = new Labels();
    this.renderer =
      (host.dataset.renderer === "2d" ? null : WebGLRenderer.create(this.canvas)) ??
      new Canvas2DRenderer(this.canvas);
  }

  #watch() {
    this.resizeObserver = new ResizeObserver(() => this.#resize());
    this.resizeObserver.observe(this.root);
    this.themeObserver = new MutationObserver(() => this.reloadTheme());
    this.themeObserver.observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-mantine-color-scheme", "class", "style"],
    });
    this.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.canvas.addEventListener("webglcontextrestored", () => {
      this.renderer.restore();
      this.invalidate();
    });
    this.#resize();
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.root;
    const ratio = window.devicePixelRatio || 1;
    if (!width || !height) return;
    const wasFitted = this.scene && Math.abs(this.camera.scale / this.camera.fitScale - 1) < 0.01;
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.camera.resize(width, height);
    if (wasFitted || this.unfitted) this.camera.set(this.camera.fitted());
    this.unfitted = false;
    this.invalidate();
  }

  reloadTheme() {
    this.theme = readTheme(this.host);
    this.themeKey = (this.themeKey ?? 0) + 1;
    this.invalidate();
  }

  show(scene) {
    this.scene = scene;
    this.flowsSrc = null;
    this.marksSrc = null;
    const { header } = scene;
    this.state.start(scene);
    const lines = (scene.bands > 1 ? 1 : 0) + (header.laneLabels ? 1 : 0);
    const head = lines ? HEADER_ROOM + (lines - 1) * HEADER_LINE : 6;
    const foot = scene.bands > 1 ? WRAP_MARGIN + 4 : 6;
    this.camera.setBounds(0, -head, Math.max(1, scene.width), scene.height + foot);
    this.camera.set(this.link?.place(this.host.dataset.layout) ?? this.camera.fitted());
    this.unfitted = !this.root.clientWidth || !this.root.clientHeight;
    this.failure.hidden = true;
    this.notice.textContent = scene.nodes
      ? header.warnings.join(" ")
      : "This graph has no nodes: nothing was launched while it was captured.";
    this.notice.hidden = !this.notice.textContent;
    this.canvas.setAttribute(
      "aria-label",
      `${header.title}: ${scene.nodes} nodes, ${scene.edges} edges. ` +
        "Arrow keys follow edges and lanes, Enter opens a body, plus and minus zoom, f fits, Escape clears.",
    );
    this.tooltip.hide();
    this.invalidate();
  }

  fail(message) {
    this.scene = null;
    this.failure.textContent = message;
    this.failure.hidden = false;
    this.notice.hidden = this.minimap.box.hidden = true;
    this.tooltip.hide();
    this.invalidate();
  }

  invalidate() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.drawNow();
    });
  }

  drawNow() {
    if (!this.host.isConnected) return;
    const start = performance.now();
    const { list, camera, theme, state, ratio } = this;
    if (this.scene) {
      list.build(this.scene, camera, theme, state);
      this.groups = addGroups(list, this.scene, camera, theme, state, (font) => this.labels.measure(font));
      addFlows(list, this.scene, camera, theme, state);
      this.labels.add(list, this.scene, camera, theme, state, ratio);
      addMarks(list, this.scene, camera, theme);
    } else {
      list.clear(theme);
    }
    this.renderer.draw(list, camera.width, camera.height, ratio ?? 1);
    if (this.scene) {
      this.minimap.update(this.scene, camera, theme, state, this.themeKey ?? 0, ratio);
    }
    this.frames++;
    this.frameMs = performance.now() - start;
    this.onFrame?.();
  }

  // Moving about.

  pan(dx, dy) {
    this.tooltip.hide();
    this.motion.pan(dx, dy);
  }

  zoom(px, py, factor) {
    this.tooltip.hide();
    this.motion.zoom(px, py, factor);
  }

  zoomCentre(factor) {
    let [x, y] = [this.camera.width / 2, this.camera.height / 2];
    if (this.state.selected >= 0) {
      const [sx, sy] = this.nodeScreenPosition(this.state.selected);
      if (sx >= 0 && sy >= 0 && sx <= this.camera.width && sy <= this.camera.height) [x, y] = [sx, sy];
    }
    this.zoom(x, y, factor);
  }

  panTowards(direction) {
    const step = { up: [0, 90], down: [0, -90], left: [90, 0], right: [-90, 0] }[direction];
    this.pan(...step);
  }

  beginDrag() {
    this.tooltip.hide();
    this.root.classList.add("cglens-dragging");
  }

  endDrag() {
    this.root.classList.remove("cglens-dragging");
  }

  centreOn(x, y) {
    this.motion.jump({ x, y, scale: this.camera.scale });
  }

  /** Go where a linked canvas is. */
  follow(place) {
    this.motion.stop();
    this.camera.set(place);
    this.invalidate();
  }

  fit() {
    if (this.scene) this.motion.ease(this.camera.fitted());
  }

  /** Bring a node into view, if it is not, and to where it can be read, if it is asked for. */
  reveal(i, readable = false) {
    const { camera, scene } = this;
    if (readable && camera.scale < READABLE) {
      this.motion.ease({ x: scene.x[i], y: scene.y[i], scale: READABLE });
      return;
    }
    const [x, y] = this.nodeScreenPosition(i);
    const margin = 40;
    const outside =
      x < margin || y < margin || x > camera.width - margin || y > camera.height - margin;
    if (outside) this.motion.ease({ x: scene.x[i], y: scene.y[i], scale: camera.scale });
  }

  // Nodes under the pointer and the selection.

  nodeAtScreen(px, py) {
    if (!this.scene) return -1;
    const reach = Math.max(0, 3 / this.camera.scale - 2);
    return nodeAt(this.scene, ...this.camera.toWorld(px, py), reach);
  }

  nodeScreenPosition(i) {
    return this.camera.toScreen(this.scene.x[i], this.scene.y[i]);
  }

  hover(px, py) {
    const i = this.nodeAtScreen(px, py);
    this.link?.hovered(this, i);
    this.canvas.style.cursor = i >= 0 ? "pointer" : "";
    if (i < 0) {
      this.tooltip.hide();
      return;
    }
    const { scene, state, camera, list } = this;
    const shifts = list.mode === "strips" ? shiftsFor(scene, camera.scale) : null;
    this.tooltip.show(scene, i, state.colouring, shifts, px, py);
  }

  leave() {
    this.tooltip.hide();
    this.link?.hovered(this, -1);
  }

  click(px, py) {
    this.canvas.focus({ preventScroll: true });
    this.select(this.nodeAtScreen(px, py), "click");
  }

  doubleClick(px, py) {
    const i = this.nodeAtScreen(px, py);
    if (i < 0) return;
    if (this.scene.bodies[i]) this.#enter(i);
    else {
      const scale = Math.max(1, this.camera.scale);
      this.motion.ease({ x: this.scene.x[i], y: this.scene.y[i], scale });
    }
  }

  enterSelected() {
    const i = this.state.selected;
    if (i >= 0 && this.scene.bodies[i]) this.#enter(i);
  }

  #enter(i) {
    this.emit("enter", { index: i, path: this.scene.path(i) });
  }

  step(direction) {
    const { scene, state } = this;
    if (!scene?.nodes) return;
    const from = state.selected;
    const to = from < 0 ? scene.order[0] : neighbourInDirection(scene, from, direction);
    this.select(to, "key");
    this.reveal(to);
  }

  /** Select as the user does: drawn, announced and told to Dash. */
  select(i, how) {
    if (!this.scene || i === this.state.selected) return;
    this.setSelection(i);
    this.link?.selected(this, i);
    this.emit("select", {
      index: i < 0 ? null : i,
      path: i < 0 ? null : this.scene.path(i),
      how,
    });
  }

  /** Select as the page does: drawn and announced only. */
  setSelection(i) {
    const { scene } = this;
    this.state.select(scene, i);
    if (i >= 0) {
      const { before, after } = scene.neighbours(i);
      this.announcer.textContent =
        `${scene.typeName(i)} ${scene.label(i)}, node ${scene.path(i)}, ` +
        `${before.length} predecessors, ${after.length} successors`;
    } else this.announcer.textContent = "Nothing selected";
    this.invalidate();
  }

  /** Mark the node that is pointed at in a linked canvas. */
  setHover(i) {
    if (i === this.state.hovered) return;
    this.state.hovered = i;
    this.invalidate();
  }

  setMatches(indices) {
    this.state.match(this.scene, indices);
    this.announcer.textContent = indices ? `${indices.length} nodes match` : "";
    this.invalidate();
  }

  /** Show data flow over the scene; null for none. */
  setFlows(flows) {
    this.scene.flows = flows;
    this.host.setAttribute("data-flows-shown", flows ? flows.count : "");
    const none = flows && !flows.flowing ? ["No node is known to read what another wrote."] : [];
    this.say([...this.scene.header.warnings, ...none].join(" "));
    this.state.select(this.scene, this.state.selected);
    this.invalidate();
  }

  /** Mark nodes with findings; null for none. */
  setMarks(marks) {
    this.scene.marks = marks;
    this.host.setAttribute("data-marks-shown", marks ? marks.count : "");
    const detail = { findings: marks ? marks.findings : null };
    this.host.dispatchEvent(new CustomEvent("cglens:marks", { bubbles: true, detail }));
    this.invalidate();
  }

  say(sentence) {
    this.notice.textContent = sentence;
    this.notice.hidden = !sentence;
  }

  setColouring(name) {
    this.state.colour(this.scene, name);
    this.invalidate();
  }

  dispose() {
    this.motion.stop();
    this.link?.remove(this);
    if (this.pending) cancelAnimationFrame(this.pending);
    this.resizeObserver.disconnect();
    this.themeObserver.disconnect();
    this.renderer.dispose();
    this.root.remove();
  }
}
