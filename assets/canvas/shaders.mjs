// The shaders of the WebGL2 back end.
//
// Vertices read their record from a texture. Instanced drawing would be the usual way, but
// software WebGL handles instances one by one: 3,000 boxes took 115 ms a frame.

import { RECORD_WORDS } from "./drawlist.mjs";

export const TEXELS = RECORD_WORDS / 4;
export const ROW_RECORDS = 1024; // records in a row of the texture

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

export const BOX_VERTEX = `${RECORD}
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

export const FLAT_VERTEX = `${RECORD}
flat out vec4 v_fill;
void main() {
  vec4 rect = uintBitsToFloat(texel(0));
  v_fill = colourOf(texel(1).x);
  gl_Position = place(rect.xy + corner() * rect.zw);
}`;

export const FLAT_FRAGMENT = `#version 300 es
precision mediump float;
flat in vec4 v_fill;
out vec4 colour;
void main() { colour = v_fill; }`;

export const ROUND_FRAGMENT = `#version 300 es
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

export const LINE_VERTEX = `${RECORD}
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

export const LINE_FRAGMENT = `#version 300 es
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
export const TEXT_VERTEX = `${RECORD}
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

export const TEXT_FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D u_atlas;
flat in vec4 v_colour;
in vec2 v_texel;
out vec4 colour;
void main() {
  float cover = texelFetch(u_atlas, ivec2(v_texel), 0).r;
  colour = vec4(v_colour.rgb, v_colour.a * cover);
}`;
