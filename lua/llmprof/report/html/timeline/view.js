// What of the run is in view: D3's zoom of the canvas over a linear scale of ns.
"use strict";
/* global d3 */
const scale = require("./scale");

// A wheel zooms once the canvas has the focus, so that it scrolls the page before.
const mayZoom = (canvas) => (given) => {
  const event = given && given.type ? given : d3.event;
  if (event.type === "wheel") {
    return document.activeElement === canvas || event.ctrlKey || event.metaKey;
  }
  return !event.ctrlKey && !event.button && !(event.shiftKey && event.type === "mousedown");
};

const sizeCanvas = (canvas, width, height) => {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.floor(width * ratio);
  canvas.height = Math.floor(height * ratio);
  canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
};

// { first, last: ns, width, gutter, height: pixels, and what changes it }; its `draw` is called
// once for all changes before the next frame of the screen.
const create = (canvas, timeline) => {
  const { first, last } = scale.reach(timeline);
  const view = { first, last, width: 0, gutter: 0, height: 0 };
  const whole = d3.scaleLinear().domain([first, last]);
  let isScheduled = false;

  view.redraw = () => {
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(() => {
      isScheduled = false;
      view.draw();
    });
  };
  const zoom = d3.zoom().filter(mayZoom(canvas)).on("zoom", view.redraw);
  const surface = d3.select(canvas);

  // From ns to pixels.
  view.to = () => d3.zoomTransform(canvas).rescaleX(whole);
  view.seen = () => {
    const to = view.to();
    return [to.invert(view.gutter), to.invert(view.width)];
  };
  view.lookAt = (from, until) => {
    const { k, x } = scale.zoomTo(view, from, until);
    surface.call(zoom.transform, d3.zoomIdentity.translate(x, 0).scale(k));
  };
  view.zoomBy = (factor) => surface.call(zoom.scaleBy, factor);
  // By a part of what is in view.
  view.moveBy = (part) => surface.call(zoom.translateBy,
    (part * (view.width - view.gutter)) / d3.zoomTransform(canvas).k, 0);

  // To the width of what holds the canvas; what was in view stays there.
  view.resize = () => {
    const seen = view.width ? view.seen() : [timeline.view.first, timeline.view.last];
    view.width = Math.max(canvas.parentElement.clientWidth, 200);
    view.gutter = scale.gutterOf(view.width);
    const { width, gutter, height } = view;
    sizeCanvas(canvas, width, height);
    whole.range([gutter, width]);
    zoom.extent([[gutter, 0], [width, height]]).translateExtent([[gutter, 0], [width, height]])
      .scaleExtent([1, Math.max(1, (last - first) / 20)]);
    view.lookAt(...seen);
    view.redraw();
  };
  view.setHeight = (height) => {
    if (height === view.height) return;
    view.height = height;
    canvas.style.height = `${height}px`;
    if (view.width) view.resize();
  };
  surface.call(zoom).on("dblclick.zoom", null);
  return view;
};

module.exports = { create };
