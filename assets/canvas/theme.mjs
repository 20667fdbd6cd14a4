// Colours: from the CSS variables of the host, and the tints that boxes take at each zoom.

/** Parse `#rrggbb` to [r, g, b]; anything else is grey, since a colour must not stop a picture. */
export function parseColour(text) {
  const match = /^#([0-9a-f]{6})$/i.exec(text.trim());
  if (!match) return [136, 136, 136];
  const value = parseInt(match[1], 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function mix(a, b, t) {
  return [0, 1, 2].map((k) => a[k] + (b[k] - a[k]) * t);
}

/** Pack to the byte order that both drawing back ends read (R, G, B, A in memory). */
export function pack(rgb, alpha = 1) {
  return (
    ((Math.round(alpha * 255) << 24) |
      (Math.round(rgb[2]) << 16) |
      (Math.round(rgb[1]) << 8) |
      Math.round(rgb[0])) >>>
    0
  );
}

export function cssOf(packed) {
  return `rgba(${packed & 255},${(packed >> 8) & 255},${(packed >> 16) & 255},${(packed >>> 24) / 255})`;
}

export function readTheme(host) {
  const style = getComputedStyle(host);
  const colour = (name) => parseColour(style.getPropertyValue(name));
  const background = colour("--cgl-background");
  return {
    background,
    text: colour("--cgl-text"),
    muted: colour("--cgl-muted"),
    edge: colour("--cgl-edge"),
    accent: colour("--cgl-accent"),
    dark: background[0] + background[1] + background[2] < 384,
    font: style.fontFamily || "sans-serif",
  };
}

/**
 * Fill and border per category, for normal, dim and loud nodes.
 *
 * Small boxes are solid; larger ones turn to a tint on which text is readable.
 */
export class Tints {
  #kept = {}; // those of the last frame: a legend may have thousands of kernels

  of(theme, { legend, strong }, boxHeight) {
    const kept = this.#kept;
    if (kept.theme !== theme || kept.legend !== legend || kept.boxHeight !== boxHeight) {
      const tints = makeTints(theme, legend, boxHeight, strong);
      this.#kept = { theme, legend, boxHeight, tints };
    }
    return this.#kept.tints;
  }
}

/** The colour of an entry on the ground of a theme. */
export function entryColour(theme, entry) {
  if (theme.dark && entry.dark) return parseColour(entry.dark);
  const base = parseColour(entry.colour);
  return theme.dark ? mix(base, [255, 255, 255], 0.22) : base;
}

function makeTints(theme, legend, boxHeight, strong) {
  const large = Math.min(1, Math.max(0, (boxHeight - 6) / 7));
  const weak = theme.dark ? (strong ? 0.45 : 0.3) : strong ? 0.55 : 0.17;
  const strength = 0.88 + (weak - 0.88) * large;
  const count = legend.length;
  const fill = new Uint32Array(count * 3);
  const border = new Uint32Array(count * 3);
  legend.forEach((entry, c) => {
    const colour = entryColour(theme, entry);
    const put = (level, f, b) => {
      fill[level * count + c] = pack(mix(theme.background, colour, f));
      border[level * count + c] = pack(mix(theme.background, colour, b));
    };
    if (entry.outline) {
      [0, 1, 2].forEach((level) => put(level, 0.06, [0.5, 0.2, 0.9][level]));
      return;
    }
    put(0, strength, 0.85);
    put(1, strength * (theme.dark ? 0.25 : 0.3), 0.22);
    put(2, Math.min(1, strength * 1.35), 1);
  });
  return { fill, border, count };
}
