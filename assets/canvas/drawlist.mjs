// The draw list: what is on the screen in one frame, in CSS pixels. Both back ends draw it.

import { addEdges } from "./edges.mjs";
import { buildStrips, shiftsFor } from "./lod.mjs";
import { Tints, pack } from "./theme.mjs";

// Records are eight words, so that one is two texels of four words for the GPU.
// Box: x, y, width, height as floats; fill, border as RGBA; two unused.
// Line: x0, y0, x1, y1, width at its start, width at its end as floats; RGBA; one unused.
export const RECORD_WORDS = 8;

/** A growing array of records that are partly floats and partly packed colours. */
export class Records {
  words = RECORD_WORDS;
  count = 0;

  constructor() {
    this.#allocate(1024 * RECORD_WORDS);
  }

  #allocate(length) {
    const old = this.float;
    this.buffer = new ArrayBuffer(length * 4);
    this.float = new Float32Array(this.buffer);
    this.uint = new Uint32Array(this.buffer);
    if (old) this.float.set(old);
  }

  /** Offset of a new record. */
  add() {
    const at = this.count++ * RECORD_WORDS;
    if (at + RECORD_WORDS > this.float.length) this.#allocate(this.float.length * 2);
    return at;
  }
}

export class DrawList {
  boxes = new Records();
  lines = new Records();
  plates = new Records(); // boxes over everything but texts
  texts = []; // { text, x, y, font, colour }: y is the middle
  background = [255, 255, 255];
  radius = 0;
  border = 0;
  bar = 0;
  mode = "boxes";
  visible = []; // nodes drawn as boxes, for labels
  #strips = null;
  #tints = new Tints();

  box(x, y, width, height, fill, border) {
    const at = this.boxes.add();
    const { float, uint } = this.boxes;
    float[at] = x;
    float[at + 1] = y;
    float[at + 2] = width;
    float[at + 3] = height;
    uint[at + 4] = fill;
    uint[at + 5] = border;
  }

  plate(x, y, width, height, fill) {
    const at = this.plates.add();
    this.plates.float.set([x, y, width, height], at);
    this.plates.uint[at + 4] = fill;
  }

  text(text, x, y, font, colour) {
    this.texts.push({ text, x, y, font, colour });
  }

  line(x0, y0, x1, y1, colour, width0, width1 = width0) {
    const at = this.lines.add();
    const { float, uint } = this.lines;
    float[at] = x0;
    float[at + 1] = y0;
    float[at + 2] = x1;
    float[at + 3] = y1;
    float[at + 4] = width0;
    float[at + 5] = width1;
    uint[at + 6] = colour;
  }

  clear(theme) {
    for (const records of [this.boxes, this.lines, this.plates]) records.count = 0;
    this.visible.length = this.texts.length = 0;
    this.background = theme.background;
  }

  /** Fill the list for one frame. `state` holds colouring, emphasis, selection and a version. */
  build(scene, camera, theme, state, { lines = true } = {}) {
    this.clear(theme);
    const { scale } = camera;
    const boxHeight = scene.cell.boxHeight * scale;
    this.tint = this.#tints.of(theme, scene.header.colourings[state.colouring], boxHeight);
    this.mode = scene.cell.height * scale < 3 ? "strips" : "boxes";
    const rounded = boxHeight >= 7;
    this.radius = rounded ? Math.min(5, boxHeight * 0.2) : 0;
    this.border = rounded ? 1 : 0;
    this.bar = boxHeight >= 11 ? Math.max(2, Math.min(4, boxHeight * 0.16)) : 0;
    if (lines) addEdges(this, scene, camera, theme, state);
    if (this.mode === "strips") this.#addStrips(scene, camera, theme, state);
    else this.#addBoxes(scene, camera, theme, state);
  }

  #addBoxes(scene, camera, theme, state) {
    const { cell, order, row, columnStart, columnBand, bandRow, columnLeft, bodies, y } = scene;
    const { scale } = camera;
    const view = camera.window();
    const width = cell.boxWidth * scale;
    const height = Math.max(1, cell.boxHeight * scale);
    const inset = (cell.width - cell.boxWidth) / 2;
    const colour = scene[`colour${state.colouring}`];
    const { fill, border, count } = this.tint;
    const { emphasis, selected, hovered } = state;
    const twin = selected >= 0 ? scene.twinOf(selected) : -1;
    const accent = pack(theme.accent);
    const muted = pack(theme.muted);
    const firstColumn = Math.max(0, scene.columnAt(view.left));
    for (let c = firstColumn; c < scene.columns && columnLeft[c] < view.right; c++) {
      const origin = bandRow[columnBand[c]];
      const top = Math.max(0, Math.floor(view.top / cell.height));
      let k = scene.firstAtOrBelow(c, origin + top);
      const end = columnStart[c + 1];
      const [left] = camera.toScreen(columnLeft[c] + inset, 0);
      for (; k < end; k++) {
        const i = order[k];
        if ((row[i] - origin) * cell.height > view.bottom) break;
        const at = (y[i] - camera.y) * scale + camera.height / 2 - height / 2;
        const entry = emphasis[i] * count + colour[i];
        if (bodies[i] && height >= 7) {
          const back = Math.max(2, 3.5 * scale);
          this.box(left + back, at + back, width, height, fill[entry], border[entry]);
        }
        if (i === selected || i === hovered || i === twin) {
          const ring = Math.max(2, 3 * scale);
          const colour = i === selected || i === twin ? accent : muted;
          this.box(left - ring, at - ring, width + 2 * ring, height + 2 * ring, colour, colour);
        }
        this.box(left, at, width, height, fill[entry], border[entry]);
        this.visible.push(i);
      }
    }
  }

  #addStrips(scene, camera, theme, state) {
    const { cell, columnLeft } = scene;
    const { scale } = camera;
    const shifts = shiftsFor(scene, scale);
    const key = `${shifts.row}/${shifts.column}/${state.version}`;
    if (this.#strips?.scene !== scene || this.#strips.key !== key) {
      const colour = scene[`colour${state.colouring}`];
      const strips = buildStrips(
        scene, colour, this.tint.count, state.emphasis, shifts.row, shifts.column,
      );
      this.#strips = { scene, key, strips };
    }
    const { strips } = this.#strips;
    const { fill, count } = this.tint;
    const view = camera.window();
    const inset = (cell.width - cell.boxWidth) / 2;
    const gap = (cell.height - cell.boxHeight) / 2;
    for (let s = 0; s < strips.count; s++) {
      const left = columnLeft[strips.columnA[s]] + inset;
      const right = columnLeft[strips.columnB[s]] + cell.width - inset;
      const top = strips.rowA[s] * cell.height + gap;
      const bottom = (strips.rowB[s] + 1) * cell.height - gap;
      if (left > view.right || right < view.left || top > view.bottom || bottom < view.top) continue;
      const [x, y] = camera.toScreen(left, top);
      const level = strips.emphasis[s];
      this.box(
        x, y, Math.max(1, (right - left) * scale), Math.max(1, (bottom - top) * scale),
        fill[level * count + strips.category[s]], 0,
      );
    }
    this.#addPins(scene, camera, theme, state);
  }

  /** A selected node or a match must be seen even where it is smaller than a pixel. */
  #addPins(scene, camera, theme, state) {
    const accent = pack(theme.accent);
    const size = 5;
    const pin = (i, colour, half) => {
      const [x, y] = camera.toScreen(scene.x[i], scene.y[i]);
      this.box(x - half, y - half, 2 * half, 2 * half, colour, colour);
    };
    if (state.matches && state.matches.length <= 2000) {
      for (const i of state.matches) pin(i, accent, size / 2);
    }
    if (state.selected >= 0) {
      pin(state.selected, pack(theme.background), size + 2);
      pin(state.selected, accent, size);
    }
  }
}
