// Canvases that show one layout side by side: where one is moved to, the others go; what is
// selected or pointed at in one is so in all. Their scenes have the same nodes in the same places.

const links = new Map(); // name -> link

export class Link {
  views = new Set();
  kept = null; // where the last one was, for a canvas that is mounted in its place

  static of(name) {
    if (!links.has(name)) links.set(name, new Link());
    return links.get(name);
  }

  add(view) {
    this.views.add(view);
  }

  remove(view) {
    this.views.delete(view);
  }

  /** Where a canvas of this layout was left, if one was. */
  place(layout) {
    return this.kept?.layout === layout ? this.kept : null;
  }

  moved(view) {
    const { x, y, scale } = view.camera;
    this.kept = { layout: view.host.dataset.layout, x, y, scale };
    for (const other of this.#others(view)) other.follow(this.kept);
  }

  selected(view, i) {
    for (const other of this.#others(view)) other.setSelection(i);
  }

  hovered(view, i) {
    for (const other of this.#others(view)) other.setHover(i);
  }

  #others(view) {
    return [...this.views].filter((other) => other !== view && other.scene?.nodes === view.scene?.nodes);
  }
}
