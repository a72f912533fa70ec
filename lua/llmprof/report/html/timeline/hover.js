// What is under the pointer, beside it.
"use strict";

const APART = 14; // pixels

// Where it fits in the window: { left, top } of a box, in pixels.
const placeOf = (pointer, box, room) => ({
  left: Math.max(4, pointer.x + APART + box.width > room.width
    ? pointer.x - APART - box.width : pointer.x + APART),
  top: Math.max(4, Math.min(pointer.y + APART, room.height - box.height - 4)),
});

const isSame = (a, b) => (a && b ? a.lane === b.lane && a.row === b.row : a === b);

// changed(event or null): something else is below the pointer.
const create = ({ canvas, tip, eventAt, write, changed }) => {
  let pointer = null;
  let shown = null;
  let isScheduled = false;

  const show = () => {
    isScheduled = false;
    const event = pointer && eventAt(pointer.x, pointer.y);
    tip.hidden = !event;
    if (!isSame(event, shown)) {
      if (event) write(tip, event);
      shown = event;
      changed(event);
    }
    if (!event) return;
    const { left, top } = placeOf(pointer, tip.getBoundingClientRect(),
      { width: innerWidth, height: innerHeight });
    tip.style.left = `${left}px`;
    tip.style.top = `${top}px`;
  };
  const follow = (to) => {
    pointer = to;
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(show);
  };
  canvas.addEventListener("pointermove", (event) => follow(event.pointerType === "mouse"
    && !event.buttons ? { x: event.clientX, y: event.clientY } : null));
  for (const name of ["pointerleave", "pointerdown", "wheel"]) {
    canvas.addEventListener(name, () => follow(null), { passive: true });
  }
};

module.exports = { create, placeOf };
