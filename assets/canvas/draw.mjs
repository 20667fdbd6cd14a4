// The WebGL2 back end: quads for boxes and lines, nothing else.
//
// The vertices read their record from a texture. Instanced drawing would be the usual way, but
// software WebGL handles instances one by one: 3,000 boxes took 115 ms a frame.

import { ATLAS_HEIGHT, ATLAS_WIDTH, TextAtlas } from "./atlas.mjs";
import { Records, RECORD_WORDS } from "./drawlist.mjs";

const TEXELS = RECORD_WORDS / 4;
const ROW_RECORDS = 1024; // records in a row of the texture

const RECORD = `#version 300 es
precision highp float;
precision highp usampler2D;
uniform vec2 u_view;
uniform usampler2D u_records;
uvec4 texel(int k) {
  int record = gl_VertexID / 6;
  return texelFetch(u_records, ivec2((record % ${ROW_RECORDS}) * ${TEXELS} + k, record / ${ROW_RECORDS}), 0);
}
vec2 corner() {
  int k = gl_VertexID % 6;
  return vec2(k == 1 || k == 3 || k == 4, k == 2 || k == 4 || k == 5);
}
vec4 colourOf(uint word) {
  return vec4(word & 255u, (word >> 8) & 255u, (word >> 16) & 255u, word >> 24) / 255.0;
}
vec4 place(vec2 p) {
  return vec4(p.x / u_view.x * 2.0 - 1.0, 1.0 - p.y / u_view.y * 2.0, 0.0, 1.0);
}`;

const BOX_VERTEX = `${RECORD}
flat out vec4 v_fill;
flat out vec4 v_border;
flat out vec2 v_half;
out vec2 v_at;
void main() {
  vec4 rect = uintBitsToFloat(texel(0));
  uvec4 colours = texel(1);
  vec2 at = corner();
  v_fill = colourOf(colours.x);
  v_border = colourOf(colours.y);
  v_half = rect.zw * 0.5;
  v_at = (at - 0.5) * rect.zw;
  gl_Position = place(rect.xy + at * rect.zw);
}`;

const FLAT_VERTEX = `${RECORD}
flat out vec4 v_fill;
void main() {
  vec4 rect = uintBitsToFloat(texel(0));
  v_fill = colourOf(texel(1).x);
  gl_Position = place(rect.xy + corner() * rect.zw);
}`;

const FLAT_FRAGMENT = `#version 300 es
precision mediump float;
flat in vec4 v_fill;
out vec4 colour;
void main() { colour = v_fill; }`;

const ROUND_FRAGMENT = `#version 300 es
precision highp float;
uniform float u_radius;
uniform float u_stroke;
uniform float u_bar;
uniform float u_ratio;
flat in vec4 v_fill;
flat in vec4 v_border;
flat in vec2 v_half;
in vec2 v_at;
out vec4 colour;
void main() {
  vec2 q = abs(v_at) - v_half + u_radius;
  float d = length(max(q, 0.0)) + min(max(q.x, q.y), 0.0) - u_radius;
  float inside = clamp(0.5 - d * u_ratio, 0.0, 1.0);
  float stroke = clamp(0.5 + (d + u_stroke) * u_ratio, 0.0, 1.0);
  float bar = step(v_at.x + v_half.x, u_bar);
  vec4 c = mix(v_fill, v_border, max(stroke, bar));
  colour = vec4(c.rgb, c.a * inside);
}`;

const LINE_VERTEX = `${RECORD}
uniform float u_ratio;
flat out vec4 v_colour;
out float v_side;
out float v_half;
void main() {
  vec4 ends = uintBitsToFloat(texel(0));
  uvec4 rest = texel(1);
  vec2 widths = uintBitsToFloat(rest.xy);
  vec2 at = corner();
  vec2 along = ends.zw - ends.xy;
  float size = length(along);
  along = size > 0.0001 ? along / size : vec2(0.0, 1.0);
  float reach = max(widths.x, widths.y) * 0.5 + 1.0 / u_ratio;
  v_half = mix(widths.x, widths.y, at.x) * 0.5;
  v_side = (at.y * 2.0 - 1.0) * reach;
  v_colour = colourOf(rest.z);
  gl_Position = place(mix(ends.xy, ends.zw, at.x) + vec2(-along.y, along.x) * v_side);
}`;

const LINE_FRAGMENT = `#version 300 es
precision highp float;
uniform float u_ratio;
flat in vec4 v_colour;
in float v_side;
in float v_half;
out vec4 colour;
void main() {
  float cover = clamp((v_half - abs(v_side)) * u_ratio + 0.5, 0.0, 1.0);
  colour = vec4(v_colour.rgb, v_colour.a * cover);
}`;

// A text's record: x, y, width, height as floats; x and y in the atlas as integers; RGBA.
const TEXT_VERTEX = `${RECORD}
uniform float u_ratio;
flat out vec4 v_colour;
out vec2 v_texel;
void main() {
  vec4 rect = uintBitsToFloat(texel(0));
  uvec4 rest = texel(1);
  vec2 at = corner();
  v_colour = colourOf(rest.z);
  v_texel = vec2(rest.xy) + at * rect.zw * u_ratio;
  gl_Position = place(rect.xy + at * rect.zw);
}`;

const TEXT_FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D u_atlas;
flat in vec4 v_colour;
in vec2 v_texel;
out vec4 colour;
void main() {
  float cover = texelFetch(u_atlas, ivec2(v_texel), 0).r;
  colour = vec4(v_colour.rgb, v_colour.a * cover);
}`;

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
