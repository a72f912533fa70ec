// How wide things are, and what zoom shows a range of time.
"use strict";

// From when until when the timeline reaches, in ns.
const reach = ({ span, window, reach: given }) => {
  if (given) return given;
  const first = Math.min(span.first, window.first);
  return { first, last: Math.max(span.last, window.last, first + 1) };
};

// Names of lanes are in a gutter on the left.
const gutterOf = (width) => Math.min(190, Math.floor(width / 4));

// The zoom { k, x } of a view { first, last, gutter, width } that shows a range, centred;
// the range is made wide enough to be told apart in 64-bit floats.
const zoomTo = ({ first, last, gutter, width }, from, until) => {
  const middle = (from + until) / 2;
  const wide = Math.max(until - from, (last - first) / 1e8, 1);
  const k = (last - first) / wide;
  const at = gutter + ((middle - first) / (last - first)) * (width - gutter);
  return { k, x: (gutter + width) / 2 - k * at };
};

// A range around an event with room to see it in, no wider than what is `seen`, all ns.
const around = (start, took, seen) => {
  const near = Math.max(Math.min(seen, took * 40), took * 3, 2000);
  return [start + took / 2 - near / 2, start + took / 2 + near / 2];
};

module.exports = { around, gutterOf, reach, zoomTo };
