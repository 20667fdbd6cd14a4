// Which nodes are loud and which are dim: from the selection and the search.

export const NORMAL = 0;
export const DIM = 1;
export const LOUD = 2;

export class Emphasis {
  selected = -1;
  hovered = -1; // pointed at in a linked canvas
  matches = null;
  colouring = 0;
  colouringName = null;
  dimmed = false;
  dimsOnSelect = true; // false where colours say what differs: they stay while one is looked at
  emphasis = new Uint8Array(0);
  version = 0; // grows with each change, so that what was derived can be dropped

  start(scene) {
    this.selected = this.hovered = -1;
    this.matches = null;
    this.colouring = scene.colouringIndex(this.colouringName);
    this.#apply(scene);
  }

  select(scene, i) {
    this.selected = i >= 0 && i < scene.nodes ? i : -1;
    this.#apply(scene);
  }

  match(scene, indices) {
    this.matches = indices ? Uint32Array.from(indices).filter((i) => i < scene.nodes) : null;
    this.#apply(scene);
  }

  colour(scene, name) {
    this.colouringName = name; // kept when another scene is shown
    this.colouring = scene.colouringIndex(name);
    this.version++;
  }

  #apply(scene) {
    this.version++;
    const { selected, matches } = this;
    this.dimmed = (selected >= 0 && this.dimsOnSelect) || matches !== null;
    this.emphasis = new Uint8Array(scene.nodes).fill(this.dimmed ? DIM : NORMAL);
    for (const i of matches ?? []) this.emphasis[i] = LOUD;
    if (selected < 0) return;
    const { before, after } = scene.neighbours(selected);
    for (const i of before) this.emphasis[i] = LOUD;
    for (const i of after) this.emphasis[i] = LOUD;
    for (const i of scene.flows?.neighbours(selected) ?? []) this.emphasis[i] = LOUD;
    this.emphasis[selected] = LOUD;
    const twin = scene.twinOf(selected);
    if (twin >= 0) this.emphasis[twin] = LOUD;
  }
}
