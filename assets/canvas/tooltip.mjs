// What is under the pointer. Names come from recordings: they are set as text, never as markup.

import { mergedWith } from "./lod.mjs";

function mergedWords({ header, weight }) {
  return header.merged ?? (weight ? "most of their time is" : "most are");
}

export class Tooltip {
  constructor(parent) {
    this.box = document.createElement("div");
    this.box.className = "cglens-tooltip";
    this.box.setAttribute("role", "tooltip");
    this.box.hidden = true;
    this.name = document.createElement("div");
    this.name.className = "cglens-tooltip-name";
    this.facts = document.createElement("div");
    this.facts.className = "cglens-tooltip-facts";
    this.merged = document.createElement("div");
    this.merged.className = "cglens-tooltip-facts";
    this.box.append(this.name, this.facts, this.merged);
    parent.append(this.box);
    this.parent = parent;
  }

  /** Show what is known of a node; `shifts` says how nodes are merged, null that they are not. */
  show(scene, i, colouring, shifts, x, y) {
    const { legend } = scene.header.colourings[colouring];
    const colour = scene[`colour${colouring}`];
    const category = legend[colour[i]].name;
    this.name.textContent = scene.fullName(i);
    const facts = [scene.typeName(i), `node ${scene.path(i)}`, `level ${scene.level[i]}`];
    if (category && category !== scene.typeName(i)) facts.splice(1, 0, category);
    if (scene.note(i)) facts.unshift(scene.note(i));
    if (scene.bodies[i]) facts.push("double-click to enter");
    this.facts.textContent = facts.join(" · ");
    const merged = shifts && mergedWith(scene, colour, i, shifts);
    this.merged.textContent =
      merged?.count > 1
        ? `${merged.count} nodes are merged here, ${mergedWords(scene)} ${legend[merged.category].name}`
        : "";
    this.box.hidden = false;
    const { clientWidth, clientHeight } = this.parent;
    const { offsetWidth, offsetHeight } = this.box;
    const left = x + 14 + offsetWidth > clientWidth ? x - 14 - offsetWidth : x + 14;
    const top = y + 18 + offsetHeight > clientHeight ? y - 12 - offsetHeight : y + 18;
    this.box.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }

  hide() {
    this.box.hidden = true;
  }
}
