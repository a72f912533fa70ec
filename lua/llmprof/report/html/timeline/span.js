// Measuring a span: dragging with shift, or all that is in view.
"use strict";
const { element, listed } = require("./details");
const { count, duration, percent } = require("./format");
const { measure } = require("./measure");

const FEWEST = 3; // pixels of a drag that is meant as one

const titleOf = ({ from, until }) => `${duration(from, 6)} to ${duration(until, 6)}`;

const factsOf = ({ time, gpus, kernels, others, busy, idle, isWhole }) => {
  const list = [["time", duration(time)], ["kernels", count(kernels)]];
  if (others) list.push(["copies and other operations", count(others)]);
  const name = gpus > 1 ? `GPU busy, mean of ${count(gpus)}` : "GPU busy";
  if (isWhole) {
    list.push([name, `${duration(busy)} (${percent(busy, time)})`],
      ["idle", `${duration(idle)} (${percent(idle, time)})`]);
  } else {
    list.push([name, `at least ${duration(busy)}: not all events of this span are here`]);
  }
  return list;
};

const write = (holder, timeline, span) => {
  const made = measure(timeline, span);
  holder.replaceChildren(element("b", [titleOf(span)]), listed(factsOf(made)),
    listed(made.categories.map(({ name, count: times, ns }) =>
      [name, `${duration(ns)}, ${count(times)} x`])));
};

// { show(span or null), view(): measures what is in view }
const create = ({ canvas, detail, timeline, view, marked, select, changed }) => {
  let began = null;

  const show = (span) => {
    if (span) select(null);
    marked.span = span;
    if (span) write(detail, timeline, span);
    view.redraw();
    changed();
  };
  const timeAt = (event) => {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    return view.to().invert(Math.min(Math.max(x, view.gutter), view.width));
  };
  const drag = (event) => {
    if (began === null || Math.abs(event.clientX - began.x) < FEWEST) return;
    const time = timeAt(event);
    show({ from: Math.min(began.time, time), until: Math.max(began.time, time) });
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (!event.shiftKey || event.button) return;
    canvas.setPointerCapture(event.pointerId);
    canvas.focus();
    began = { x: event.clientX, time: timeAt(event) };
  });
  canvas.addEventListener("pointermove", drag);
  canvas.addEventListener("pointerup", (event) => { drag(event); began = null; });
  canvas.addEventListener("pointercancel", () => { began = null; });
  return { show, view: () => {
    const [from, until] = view.seen();
    show({ from, until });
  } };
};

module.exports = { create, factsOf };
