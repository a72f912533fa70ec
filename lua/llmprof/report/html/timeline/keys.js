// Keys of the canvas, and the buttons that do the same.
"use strict";

const create = ({ figure, canvas, timeline, view, marked, selection, search, span, link }) => {
  const neighbour = (by) => (marked.event ? selection.neighbour(by) : search.step(by));
  const actions = {
    w: () => view.zoomBy(1.5), s: () => view.zoomBy(1 / 1.5),
    a: () => view.moveBy(0.2), d: () => view.moveBy(-0.2),
    0: () => view.lookAt(view.first, view.last),
    1: () => view.lookAt(timeline.view.first, timeline.view.last),
    ArrowLeft: () => neighbour(-1), ArrowRight: () => neighbour(1),
    f: () => selection.fit(), m: () => span.view(), l: () => link(),
    n: () => search.step(1), p: () => search.step(-1),
    Escape: () => { search.clear(); selection.select(null); },
    "/": () => search.focus(),
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
  for (const button of figure.querySelectorAll("button[data-key]")) {
    button.addEventListener("click", () => actions[button.dataset.key]());
  }
};

module.exports = { create };
