// Figures and sentences of the timeline, as text. Times are ns.
"use strict";

const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

const unitOf = (ns) => UNITS.find(([, size]) => Math.abs(ns) >= size) || UNITS[3];

// Places of time have more digits than durations.
const duration = (ns, digits = 2) => {
  const [unit, size] = unitOf(ns);
  return `${size === 1 ? Math.round(ns) : (ns / size).toFixed(digits)} ${unit}`;
};

// A mark of the axis, in the unit of the step between marks.
const tick = (ns, step) => {
  const [unit, size] = unitOf(step);
  return `${Number((ns / size).toPrecision(9)).toLocaleString("en",
    { maximumFractionDigits: 6 })} ${unit}`;
};

const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "no time");

const count = (number) => number.toLocaleString("en");

// A text of at most `room` letters.
const cut = (text, room) => (text.length > room ? `${text.slice(0, room - 1)}…` : text);

// The name of a lane where there is little room: "r0 GPU0 s17" for "rank 0, GPU 0, stream 17".
const SHORT = [[/rank (\d+), /, "r$1 "], [/GPU (\d+), stream (\d+)/, "GPU$1 s$2"], [/GPU (\d+), /, "G$1 "],
  ["memory read", "read"], ["memory written", "write"], [" pipes", ""], [" end", ""],
  ["CUDA calls, thread", "CUDA"], ["NVTX, thread", "NVTX"], [", level ", "."], ["collectives", "coll."],
  ["parts of stages", "parts"]];
const shortLane = (title) => SHORT.reduce((name, [from, to]) => name.replace(from, to), title);

// What of the run the page has.
const extent = ({ window, span, samples_until: until, hidden }) => {
  const isWhole = window.first <= span.first && window.last >= span.last;
  const said = [isWhole ? "Every event of the run is here."
    : `Every event from ${duration(window.first)} to ${duration(window.last)
    } is here; of the rest, ${duration(span.first)} to ${duration(span.last)}, those that take ${
      duration(window.least)} or more. Grey bars show how busy a lane was.`];
  if (until) said.push(`Samples of the hardware are here until ${duration(until)}.`);
  if (hidden) said.push(`${hidden} more lanes are not drawn.`);
  return said.join(" ");
};

module.exports = { count, cut, duration, extent, percent, shortLane, tick };
