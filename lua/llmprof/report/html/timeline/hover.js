// What is under the pointer, beside it.
"use strict";

const APART = 14; // pixels

// Where it fits in the window: { left, top } of a box, in pixels.
const placeOf = (pointer, box, room) => ({
  left: Math.max(4, pointer.x + APART + box.width > room.width
    ? pointer.x - APART - box.width : pointer.x + APART),
  top: Math.max(4, Math.min(pointer.y + APART, room.height - box.height - 4)),
});

const create = ({ canvas, tip, eventAt, write }) => {
  let pointer = null;
  let isScheduled = false;

  const show = () => {
    isScheduled = false;
    const event = pointer && eventAt(pointer.x, pointer.y);
    tip.hidden = !event;
    if (!event) return;
    write(tip, event);
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
