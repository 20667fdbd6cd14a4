// The WebGL2 back end: quads for boxes, lines and texts, nothing else.

import { ATLAS_HEIGHT, ATLAS_WIDTH, TextAtlas } from "./atlas.mjs";
import { Records } from "./drawlist.mjs";
import {
  BOX_VERTEX, FLAT_FRAGMENT, FLAT_VERTEX, LINE_FRAGMENT, LINE_VERTEX, ROUND_FRAGMENT, ROW_RECORDS,
  TEXELS, TEXT_FRAGMENT, TEXT_VERTEX,
} from "./shaders.mjs";

export class WebGLRenderer {
  static create(canvas) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false });
    return gl ? new WebGLRenderer(gl) : null;
  }

  name = "webgl2";

  constructor(gl) {
    this.gl = gl;
    this.atlas = new TextAtlas();
    this.texts = new Records();
    this.restore();
  }

  /** Build programs and buffers, at the start and after a lost context came back. */
  restore() {
    const { gl } = this;
    this.flat = program(gl, FLAT_VERTEX, FLAT_FRAGMENT);
    this.round = program(gl, BOX_VERTEX, ROUND_FRAGMENT);
    this.lines = program(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.text = program(gl, TEXT_VERTEX, TEXT_FRAGMENT);
    const store = () => ({ texture: recordTexture(gl), rows: 0 });
    this.stores = { lines: store(), boxes: store(), plates: store(), texts: store() };
    this.coverage = recordTexture(gl);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.R8, ATLAS_WIDTH, ATLAS_HEIGHT);
    this.atlas.clear();
    gl.bindVertexArray(gl.createVertexArray());
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  draw(list, width, height, ratio) {
    const { gl } = this;
    if (gl.isContextLost()) return;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    const [r, g, b] = list.background;
    gl.clearColor(r / 255, g / 255, b / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    this.#use(this.lines, width, height, { ratio });
    this.#quads(this.stores.lines, list.lines);
    const rounded = list.radius > 0;
    if (!rounded) gl.disable(gl.BLEND);
    this.#use(rounded ? this.round : this.flat, width, height, {
      ratio,
      radius: list.radius,
      stroke: list.border,
      bar: list.bar,
    });
    this.#quads(this.stores.boxes, list.boxes);
    if (list.plates.count) {
      this.#use(this.flat, width, height, {});
      this.#quads(this.stores.plates, list.plates);
    }
    if (list.texts.length) this.#drawTexts(list.texts, width, height, ratio);
  }

  #use(shader, width, height, values) {
    const { gl } = this;
    gl.useProgram(shader.program);
    gl.uniform2f(shader.at("u_view"), width, height);
    for (const [name, value] of Object.entries(values)) gl.uniform1f(shader.at(`u_${name}`), value);
  }

  #drawTexts(texts, width, height, ratio) {
    const { gl, atlas } = this;
    if (!this.#placeTexts(texts, ratio)) {
      atlas.clear(); // full of texts that are no longer shown
      this.#placeTexts(texts, ratio);
    }
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.coverage);
    const [from, to] = atlas.dirty;
    if (to > from) {
      gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
      gl.texSubImage2D(
        gl.TEXTURE_2D, 0, 0, from, ATLAS_WIDTH, to - from, gl.RED, gl.UNSIGNED_BYTE,
        atlas.coverage, from * ATLAS_WIDTH,
      );
      atlas.dirty = [0, 0];
    }
    gl.activeTexture(gl.TEXTURE0);
    gl.enable(gl.BLEND);
    this.#use(this.text, width, height, { ratio });
    gl.uniform1i(this.text.at("u_atlas"), 1);
    this.#quads(this.stores.texts, this.texts);
  }

  /** Fill the records of texts, snapped to device pixels; false if the atlas is too full. */
  #placeTexts(texts, ratio) {
    this.texts.count = 0;
    let complete = true;
    for (const { text, x, y, font, colour } of texts) {
      const slot = this.atlas.slot(text, font, ratio);
      if (!slot) {
        complete = false;
        continue;
      }
      const at = this.texts.add();
      const { float, uint } = this.texts;
      float[at] = (Math.round(x * ratio) - slot.pad) / ratio;
      float[at + 1] = Math.round(y * ratio - slot.height / 2) / ratio;
      float[at + 2] = slot.width / ratio;
      float[at + 3] = slot.height / ratio;
      uint[at + 4] = slot.x;
      uint[at + 5] = slot.y;
      uint[at + 6] = colour;
    }
    return complete;
  }

  #quads(store, records) {
    const { gl } = this;
    if (!records.count) return;
    gl.bindTexture(gl.TEXTURE_2D, store.texture);
    const rows = Math.ceil(records.count / ROW_RECORDS);
    const width = ROW_RECORDS * TEXELS;
    if (rows > store.rows) {
      store.rows = rows;
      gl.texImage2D(
        gl.TEXTURE_2D, 0, gl.RGBA32UI, width, rows, 0, gl.RGBA_INTEGER, gl.UNSIGNED_INT, null,
      );
    }
    gl.texSubImage2D(
      gl.TEXTURE_2D, 0, 0, 0, width, rows, gl.RGBA_INTEGER, gl.UNSIGNED_INT, records.uint,
    );
    gl.drawArrays(gl.TRIANGLES, 0, 6 * records.count);
  }

  dispose() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

function program(gl, vertex, fragment) {
  const result = gl.createProgram();
  for (const [kind, text] of [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
      throw new Error(gl.getShaderInfoLog(shader));
    }
    gl.attachShader(result, shader);
  }
  gl.linkProgram(result);
  const places = new Map();
  const at = (name) => {
    if (!places.has(name)) places.set(name, gl.getUniformLocation(result, name));
    return places.get(name);
  };
  return { program: result, at };
}

function recordTexture(gl) {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  // An integer texture is complete only with these filters.
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  return texture;
}
