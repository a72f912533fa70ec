// Selecting an event: by a click, or from a search, which brings it into view.
"use strict";
const { describe } = require("./details");
const { eventAt, lengthOf } = require("./lanes");
const { laneAt } = require("./rows");
const { around } = require("./scale");

const bringIntoView = (canvas, view, { lane, row }) => {
  const [from, until] = view.seen();
  view.lookAt(...around(lane.frame.start[row], lengthOf(lane.frame, row), until - from));
  const holder = canvas.parentElement;
  if (!view.rows.pinned.has(lane)) holder.scrollTop = lane.top - holder.clientHeight / 2;
};

// The event at a place of the canvas, or within two pixels of it.
const eventNear = (view, x, y) => {
  const lane = laneAt(view.rows, y);
  if (!lane || x < view.gutter) return null;
  const to = view.to();
  return [x, x + 2, x - 2].map((at) => eventAt(lane, to.invert(at))).find(Boolean) || null;
};

// { select(event or null, isSought), neighbour(by): the next event of the lane, fit(): to the view,
// at(x, y): the event at a place of the window, or null }
const create = ({ canvas, detail, timeline, view, marked, links, changed }) => {
  const select = (event, isSought) => {
    [marked.event, marked.span] = [event, null];
    describe(detail, timeline, links, event);
    if (event && isSought) bringIntoView(canvas, view, event);
    view.redraw();
    changed();
  };
  const fit = () => {
    const { event, span } = marked;
    if (!event && !span) return;
    const from = span ? span.from : event.lane.frame.start[event.row];
    const until = span ? span.until : from + Math.max(1, lengthOf(event.lane.frame, event.row));
    view.lookAt(from - (until - from) / 20, until + (until - from) / 20);
  };
  const neighbour = (by) => {
    const { lane, place } = marked.event;
    const row = lane.rows[place + by];
    if (row !== undefined) select({ lane, place: place + by, row }, true);
  };
  const at = (x, y) => {
    const box = canvas.getBoundingClientRect();
    return eventNear(view, x - box.left, y - box.top);
  };
  canvas.addEventListener("click", (given) => {
    if (given.shiftKey) return;
    canvas.focus();
    select(at(given.clientX, given.clientY));
  });
  canvas.addEventListener("dblclick", fit);
  return { select, neighbour, fit, at };
};

module.exports = { create };
