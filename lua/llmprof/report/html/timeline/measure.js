// What the GPU did from one time until another. Times are ns.
"use strict";
const { firstIn, lengthOf } = require("./lanes");

const NO_KERNELS = new Set(["copy", "set", "graph"]);

// Calls each(row, from, until) for the operations of a lane in a span, cut to it.
const within = (lane, { from, until }, each) => {
  const { rows, frame } = lane;
  for (let i = firstIn(lane, from); i < rows.length && frame.start[rows[i]] < until; i += 1) {
    const start = frame.start[rows[i]];
    const end = start + lengthOf(frame, rows[i]);
    if (end > from || start >= from) each(rows[i], Math.max(start, from), Math.min(end, until));
  }
};

// How long at least one of these intervals [from, until] lasts.
const covered = (intervals) => {
  let [sum, last] = [0, -Infinity];
  for (const [from, until] of intervals.sort((a, b) => a[0] - b[0])) {
    if (until > last) sum += until - Math.max(from, last);
    last = Math.max(last, until);
  }
  return sum;
};

// Lanes of the GPU; the collectives of all ranks, which are on them as well, only where they alone
// are here.
const lanesOf = (lanes) => {
  const all = lanes.filter(({ kind }) => kind === "gpu");
  const own = all.filter(({ rank }) => rank === undefined);
  return own.length ? own : all;
};

// The GPU of a lane, whose title is that and the stream.
const gpuOf = ({ title }) => title.replace(/, stream .*/, "");

// { time, kernels, others (operations of the GPU that are none), busy, idle (means over all
// gpus), categories: list of { name, count, ns } by time, isWhole: is every event of the span
// here? }
const measure = ({ lanes, categories, window }, span) => {
  const byGpu = new Map();
  const sums = new Map();
  for (const lane of lanesOf(lanes)) {
    const intervals = byGpu.get(gpuOf(lane)) || [];
    byGpu.set(gpuOf(lane), intervals);
    within(lane, span, (row, from, until) => {
      const name = categories[lane.frame.label[row]] || "other";
      const sum = sums.get(name) || { name, count: 0, ns: 0 };
      sum.count += 1;
      sum.ns += until - from;
      sums.set(name, sum);
      intervals.push([from, until]);
    });
  }
  const list = [...sums.values()].sort((a, b) => b.ns - a.ns);
  const kernels = list.filter(({ name }) => !NO_KERNELS.has(name))
    .reduce((sum, { count }) => sum + count, 0);
  const all = list.reduce((sum, { count }) => sum + count, 0);
  const busy = [...byGpu.values()].reduce((sum, one) => sum + covered(one) / byGpu.size, 0);
  const time = span.until - span.from;
  return { time, gpus: byGpu.size, kernels, others: all - kernels, busy, idle: time - busy,
    categories: list, isWhole: span.from >= window.first && span.until <= window.last };
};

module.exports = { covered, measure };
