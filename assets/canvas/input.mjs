// Pointer, wheel and keys, turned into calls on the view.

const CLICK_REACH = 4; // px a pointer may move and still click
const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

export function listen(canvas, view) {
  const pointers = new Map();
  let start = null;
  let moved = false;
  const at = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  const spread = () => {
    const [[ax, ay], [bx, by]] = [...pointers.values()];
    return { distance: Math.hypot(ax - bx, ay - by), x: (ax + bx) / 2, y: (ay + by) / 2 };
  };

  const handlers = {
    pointerdown(event) {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, at(event));
      if (pointers.size === 1) {
        start = at(event);
        moved = false;
      } else moved = true;
    },
    pointermove(event) {
      const [x, y] = at(event);
      const last = pointers.get(event.pointerId);
      if (!last) {
        view.hover(x, y);
        return;
      }
      if (pointers.size === 1) {
        if (!moved && Math.hypot(x - start[0], y - start[1]) < CLICK_REACH) return;
        if (!moved) view.beginDrag();
        moved = true;
        view.pan(x - last[0], y - last[1]);
        pointers.set(event.pointerId, [x, y]);
      } else {
        const before = spread();
        pointers.set(event.pointerId, [x, y]);
        const after = spread();
        view.pan(after.x - before.x, after.y - before.y);
        if (before.distance > 0) view.zoom(after.x, after.y, after.distance / before.distance);
      }
    },
    pointerup(event) {
      if (!pointers.delete(event.pointerId)) return;
      if (!moved && !pointers.size) view.click(...at(event));
      if (!pointers.size) view.endDrag();
    },
    pointercancel(event) {
      pointers.delete(event.pointerId);
      view.endDrag();
    },
    pointerleave() {
      view.leave();
    },
    dblclick(event) {
      view.doubleClick(...at(event));
    },
    wheel(event) {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 24 : event.deltaMode === 2 ? 300 : 1;
      const delta = Math.max(-240, Math.min(240, event.deltaY * unit));
      view.zoom(...at(event), Math.exp(-delta * (event.ctrlKey ? 0.01 : 0.0022)));
    },
    keydown(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (handleKey(event, view)) event.preventDefault();
    },
  };
  for (const [name, handler] of Object.entries(handlers)) {
    canvas.addEventListener(name, handler, { passive: false });
  }
}

function handleKey(event, view) {
  const direction = ARROWS[event.key];
  if (direction) {
    if (event.shiftKey) view.panTowards(direction);
    else view.step(direction);
    return true;
  }
  switch (event.key) {
    case "+":
    case "=":
      view.zoomCentre(1.3);
      return true;
    case "-":
    case "_":
      view.zoomCentre(1 / 1.3);
      return true;
    case "0":
    case "f":
      view.fit();
      return true;
    case "Enter":
      view.enterSelected();
      return true;
    case "Escape":
      view.select(-1, "key");
      return true;
    default:
      return false;
  }
}
