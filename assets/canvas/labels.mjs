// Names in boxes and headers of bands, on a 2D overlay over the boxes.

const SMALLEST_BOX = 11; // px; below it a name cannot be read
const NARROWEST_BOX = 34;

export class Labels {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.widths = new Map(); // font -> widths of ASCII characters
    this.cut = new Map(); // label, room and font -> text that fits
    this.shown = 0;
  }

  resize(width, height, ratio) {
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
  }

  draw(scene, camera, theme, state, visible, ratio) {
    const { context } = this;
    const boxHeight = scene.cell.boxHeight * camera.scale;
    const boxWidth = scene.cell.boxWidth * camera.scale;
    const names = boxHeight >= SMALLEST_BOX && boxWidth >= NARROWEST_BOX && visible.length < 4000;
    const headers = scene.bands > 1;
    this.canvas.style.display = names || headers ? "" : "none";
    this.shown = 0;
    if (!names && !headers) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    context.textBaseline = "middle";
    if (names) this.#names(scene, camera, theme, state, visible, boxWidth, boxHeight);
    if (headers) this.#headers(scene, camera, theme);
  }

  #names(scene, camera, theme, state, visible, boxWidth, boxHeight) {
    const { context } = this;
    const size = Math.round(Math.min(14, Math.max(8.5, boxHeight * 0.5)) * 2) / 2;
    const pad = Math.max(4, boxHeight * 0.34);
    const font = `500 ${size}px ${theme.font}`;
    context.font = font;
    const widths = this.#measure(font);
    const css = (rgb, alpha) => `rgba(${rgb.map(Math.round).join(",")},${alpha})`;
    const styles = [css(theme.text, 1), css(theme.text, 0.38), css(theme.text, 1)];
    styles.push(styles[2]);
    const mark = Math.min(9, boxHeight * 0.34);
    for (const level of [0, 1, 2]) {
      context.fillStyle = styles[level];
      for (const i of visible) {
        if (Math.min(2, state.emphasis[i]) !== level) continue;
        const [x, y] = camera.toScreen(scene.x[i], scene.y[i]);
        const left = x - boxWidth / 2;
        let room = boxWidth - 2 * pad;
        if (scene.bodies[i]) {
          this.#enterMark(left + boxWidth - pad, y, mark);
          room -= mark + 2;
        }
        const text = this.#fit(scene, i, room, font, widths);
        if (text) context.fillText(text, left + pad + 1, y + 0.5);
        this.shown++;
      }
    }
  }

  /** A triangle that says: this node has a body to enter. */
  #enterMark(x, y, size) {
    const { context } = this;
    context.beginPath();
    context.moveTo(x - size * 0.75, y - size / 2);
    context.lineTo(x, y);
    context.lineTo(x - size * 0.75, y + size / 2);
    context.fill();
  }

  #headers(scene, camera, theme) {
    const { context } = this;
    context.font = `500 11px ${theme.font}`;
    const plate = `rgba(${theme.background.join(",")},0.88)`;
    const muted = `rgb(${theme.muted.join(",")})`;
    for (let b = 0; b < scene.bands; b++) {
      const [left, top] = camera.toScreen(scene.bandLeft[b], 0);
      const [right, bottom] = camera.toScreen(scene.bandRight[b], scene.bandBottom[b]);
      if (right < 0 || left > camera.width || bottom < 24 || top > camera.height) continue;
      const inset = ((scene.cell.width - scene.cell.boxWidth) / 2) * camera.scale;
      const from = Math.max(4, left + inset);
      const to = Math.min(camera.width, right - inset);
      const span = `${scene.firstLevel[b]}\u2013${scene.lastLevel[b]}`;
      const room = to - from;
      const text = ["levels " + span, span].find((t) => context.measureText(t).width <= room);
      if (!text) continue;
      const y = Math.max(13, top - 10);
      context.fillStyle = plate;
      if (y > top) context.fillRect(left, 2, right - left, 21);
      context.fillStyle = muted;
      context.fillText(text, from, y);
    }
  }

  #measure(font) {
    let widths = this.widths.get(font);
    if (!widths) {
      widths = new Float32Array(128);
      for (let code = 32; code < 127; code++) {
        widths[code] = this.context.measureText(String.fromCharCode(code)).width;
      }
      this.widths.set(font, widths);
    }
    return widths;
  }

  /** The label, or as much of it as fits with an ellipsis. */
  #fit(scene, i, room, font, widths) {
    const key = `${scene.labelIndex[i]}/${Math.round(room)}/${font}`;
    let text = this.cut.get(key);
    if (text !== undefined) return text;
    if (this.cut.size > 20000) this.cut.clear();
    const label = scene.label(i).replace(/\s+/g, " ");
    const dots = widths[46] * 2.6;
    let width = 0;
    let fits = 0; // characters that fit before an ellipsis
    let k = 0;
    for (; k < label.length && width <= room; k++) {
      const code = label.charCodeAt(k);
      width += code < 128 ? widths[code] : widths[87];
      if (width + dots <= room) fits = k + 1;
    }
    text = width <= room ? label : fits > 1 ? label.slice(0, fits).trimEnd() + "…" : "";
    this.cut.set(key, text);
    return text;
  }
}
