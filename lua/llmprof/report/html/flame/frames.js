// The functions of a flame graph: what called what, and where each is drawn when one of
// them is as wide as the graph. x and width are percent.
"use strict";

const TOLERANCE = 1e-6;
const ROUNDED = 2e-3; // places are, on both sides

// Gives each its index and its parent; each comes after the one that called it.
const connect = (frames) => {
  const path = [];
  frames.forEach((frame, index) => {
    path.length = frame.depth;
    frame.index = index;
    frame.parent = path[frame.depth - 1] || null;
    path[frame.depth] = frame;
  });
  return frames;
};

const encloses = (outer, inner) => outer.x <= inner.x + ROUNDED
  && outer.x + outer.width >= inner.x + inner.width - ROUNDED;

// Is there something to see by making it wider?
const canZoom = (frame) => frame.width < 100 - TOLERANCE;

// { rows: how many are needed, places: { frame, x, width, above: it called the one that is
// zoomed, away: it is not to be seen } each }; zoomed: null, all as they are.
const layout = (frames, zoomed) => {
  const left = zoomed ? zoomed.x : 0;
  const scale = zoomed ? 100 / Math.max(zoomed.width, TOLERANCE) : 1;
  const callers = new Set();
  for (let at = zoomed && zoomed.parent; at; at = at.parent) callers.add(at);
  let rows = 1;
  const places = frames.map((frame) => {
    const inside = !zoomed || (frame.depth >= zoomed.depth && encloses(zoomed, frame));
    const above = callers.has(frame);
    if (inside) rows = Math.max(rows, frame.depth + 1);
    return { frame, above, away: !inside && !above, x: above ? 0 : (frame.x - left) * scale,
      width: above ? 100 : frame.width * scale };
  });
  return { rows, places };
};

// The next one of the same depth to the right, or with -1 to the left; null: there is none.
const neighbour = (frames, current, step) => {
  for (let i = current.index + step; frames[i]; i += step) {
    if (frames[i].depth === current.depth) return frames[i];
  }
  return null;
};

// The first one that it called, or null.
const firstCalled = (frames, current) => {
  const next = frames[current.index + 1];
  return next && next.parent === current ? next : null;
};

module.exports = { canZoom, connect, firstCalled, layout, neighbour };
