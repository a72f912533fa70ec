// A flame graph on the page: which function is zoomed, which has the focus.
"use strict";
const { canZoom, connect, layout } = require("./frames");

const ROW = 18;

const placeOf = (element) => ({ element, x: parseFloat(element.getAttribute("x")),
  depth: Number(element.getAttribute("y")) / ROW,
  width: parseFloat(element.getAttribute("width")) });

const draw = (svg, frames, zoomed) => {
  const { rows, places } = layout(frames, zoomed);
  for (const { frame: { element }, x, width, above, away } of places) {
    element.classList.toggle("above", above);
    element.classList.toggle("away", away);
    element.setAttribute("x", `${x}%`);
    element.setAttribute("width", `${width}%`);
  }
  svg.setAttribute("height", rows * ROW);
};

// { frames, current(), zoom(frame or null), focus, hold(frame), frameOf(event) };
// said(text) is called with what is known of the function that is held, changed(isZoomed).
const create = (svg, { said, changed }) => {
  const frames = connect([...svg.children].map(placeOf));
  const byElement = new Map(frames.map((frame) => [frame.element, frame]));
  let current = frames[0];

  const tell = (frame) => said(frame.element.querySelector("title").textContent);
  const zoom = (frame) => {
    const zoomed = frame && canZoom(frame) ? frame : null;
    draw(svg, frames, zoomed);
    changed(zoomed !== null);
  };
  // One of them is in the order of tabs.
  const hold = (frame) => {
    current.element.setAttribute("tabindex", "-1");
    current = frame;
    current.element.setAttribute("tabindex", "0");
    tell(frame);
  };
  const focus = (frame) => {
    if (!frame || frame.element.classList.contains("away")) return;
    hold(frame);
    frame.element.focus();
  };
  const frameOf = (event) => {
    const element = event.target.closest && event.target.closest("svg svg");
    return element ? byElement.get(element) : null;
  };
  return { frames, current: () => current, zoom, focus, hold, tell, frameOf };
};

module.exports = { create };
