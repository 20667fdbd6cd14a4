// The WebGL2 back end: instanced quads for boxes and lines, nothing else.

import { BOX_WORDS, LINE_WORDS } from "./drawlist.mjs";

const BOX_VERTEX = `#version 300 es
uniform vec2 u_view;
layout(location=0) in vec4 a_rect;
layout(location=1) in vec4 a_fill;
layout(location=2) in vec4 a_border;
flat out vec4 v_fill;
flat out vec4 v_border;
flat out vec2 v_half;
out vec2 v_at;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  v_fill = a_fill;
  v_border = a_border;
  v_half = a_rect.zw * 0.5;
  v_at = (corner - 0.5) * a_rect.zw;
  vec2 p = (a_rect.xy + corner * a_rect.zw) / u_view;
  gl_Position = vec4(p.x * 2.0 - 1.0, 1.0 - p.y * 2.0, 0.0, 1.0);
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

const LINE_VERTEX = `#version 300 es
uniform vec2 u_view;
uniform float u_ratio;
layout(location=0) in vec4 a_ends;
layout(location=1) in vec2 a_width;
layout(location=2) in vec4 a_colour;
flat out vec4 v_colour;
out float v_side;
out float v_half;
void main() {
  bool far = (gl_VertexID & 1) == 1;
  float side = float(gl_VertexID >> 1) * 2.0 - 1.0;
  vec2 along = a_ends.zw - a_ends.xy;
  float size = length(along);
  along = size > 0.0001 ? along / size : vec2(0.0, 1.0);
  float width = far ? a_width.y : a_width.x;
  float reach = max(a_width.x, a_width.y) * 0.5 + 1.0 / u_ratio;
  v_half = width * 0.5;
  v_side = side * reach;
  v_colour = a_colour;
  vec2 p = (far ? a_ends.zw : a_ends.xy) + vec2(-along.y, along.x) * v_side;
  p /= u_view;
  gl_Position = vec4(p.x * 2.0 - 1.0, 1.0 - p.y * 2.0, 0.0, 1.0);
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

export class WebGLRenderer {
  static create(canvas) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false });
    return gl ? new WebGLRenderer(gl) : null;
  }

  name = "webgl2";

  constructor(gl) {
    this.gl = gl;
    this.restore();
  }

  /** Build programs and buffers, at the start and after a lost context came back. */
  restore() {
    const { gl } = this;
    this.flat = program(gl, BOX_VERTEX, FLAT_FRAGMENT);
    this.round = program(gl, BOX_VERTEX, ROUND_FRAGMENT);
    this.lines = program(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.boxes = instances(gl, BOX_WORDS, [
      [4, gl.FLOAT],
      [4, gl.UNSIGNED_BYTE],
      [4, gl.UNSIGNED_BYTE],
    ]);
    this.segments = instances(gl, LINE_WORDS, [
      [4, gl.FLOAT],
      [2, gl.FLOAT],
      [4, gl.UNSIGNED_BYTE],
    ]);
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
    this.#instances(this.segments, list.lines);
    const rounded = list.radius > 0;
    if (!rounded) gl.disable(gl.BLEND);
    this.#use(rounded ? this.round : this.flat, width, height, {
      ratio,
      radius: list.radius,
      stroke: list.border,
      bar: list.bar,
    });
    this.#instances(this.boxes, list.boxes);
  }

  #use(shader, width, height, values) {
    const { gl } = this;
    gl.useProgram(shader.program);
    gl.uniform2f(shader.at("u_view"), width, height);
    for (const [name, value] of Object.entries(values)) gl.uniform1f(shader.at(`u_${name}`), value);
  }

  #instances({ array, buffer }, records) {
    const { gl } = this;
    if (!records.count) return;
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(
      gl.ARRAY_BUFFER, records.float, gl.STREAM_DRAW, 0, records.count * records.words,
    );
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, records.count);
    gl.bindVertexArray(null);
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

function instances(gl, words, attributes) {
  const array = gl.createVertexArray();
  const buffer = gl.createBuffer();
  gl.bindVertexArray(array);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  let offset = 0;
  attributes.forEach(([size, type], location) => {
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, size, type, type !== gl.FLOAT, words * 4, offset);
    gl.vertexAttribDivisor(location, 1);
    offset += type === gl.FLOAT ? 4 * size : size;
  });
  gl.bindVertexArray(null);
  return { array, buffer };
}
