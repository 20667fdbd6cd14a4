// What is under the pointer. Names come from recordings: they are set as text, never as markup.

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

  show(scene, i, category, merged, x, y) {
    this.name.textContent = scene.fullName(i);
    const facts = [scene.typeName(i), `node ${scene.path(i)}`, `level ${scene.level[i]}`];
    if (category && category !== scene.typeName(i)) facts.splice(1, 0, category);
    if (scene.bodies[i]) facts.push("double-click to enter");
    this.facts.textContent = facts.join(" · ");
    this.merged.textContent = merged;
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
