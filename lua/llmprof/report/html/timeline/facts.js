// What is known of an event, as a list of [name, text].
"use strict";
const { duration } = require("./format");
const { eventAt, lengthOf } = require("./lanes");

const rankOf = ({ title }) => (/^rank (\d+), /.exec(title) || [])[1];

// The names of what the lanes of a kind have at a time: those of a lane's rank, else the only one.
const around = ({ lanes, labels }, kind, time, of) => {
  const all = lanes.filter((lane) => lane.kind === kind);
  const same = all.filter((lane) => lane.rank === of.rank && rankOf(lane) === rankOf(of));
  const chosen = same.length === 0 && all.length === 1 && of.rank === undefined ? all : same;
  return [...new Set(chosen.map((lane) => eventAt(lane, time)).filter(Boolean)
    .map(({ lane, row }) => labels[lane.frame.label[row]]))].join("; ");
};

// What launched an operation of the GPU, where that is known.
const SOURCES = ["module", "line", "operator"];

const ofSource = ({ labels }, frame, row) => SOURCES
  .filter((name) => frame[`${name}_label`] && frame[`${name}_label`][row] >= 0)
  .map((name) => [name, labels[frame[`${name}_label`][row]]]);

// Of an operation of the GPU; counters: a text of a kernel's number, "" without.
const ofOperation = (timeline, links, { lane, row }, counters) => {
  const { labels, categories, api } = timeline;
  const { frame } = lane;
  const list = ofSource(timeline, frame, row);
  const category = categories[frame.label[row]];
  if (category) list.push(["category", category]);
  const call = links.counterpart({ lane, row });
  if (call) list.push(["launched by", `${labels[api.label[call.row]]} (${call.lane.title})`]);
  if (frame.queue_time[row] > 0) {
    list.push(["delay", `${duration(frame.queue_time[row])} after the call`]);
  }
  if (frame.waiting[row] > 0) {
    list.push(["waited", `${duration(frame.waiting[row])} for other ranks, then transfer ${
      duration(lengthOf(frame, row) - frame.waiting[row])}`]);
  }
  const said = counters(frame.kernel[row]);
  if (said) list.push(["counters", said]);
  return list;
};

const facts = (timeline, links, { lane, row }, counters) => {
  const { frame } = lane;
  const start = frame.start[row];
  const list = [["took", duration(lengthOf(frame, row))], ["at", duration(start, 6)]];
  const stage = lane.kind === "gpu" && timeline.stages[frame.place[row]];
  if (stage) list.push(["stage", stage]);
  for (const kind of ["step", "layer"]) {
    const said = lane.kind !== kind && around(timeline, kind, start, lane);
    if (said) list.push([kind, said.replace(/,? ?(step|layer) /, " ").trim()]);
  }
  if (lane.kind === "sample") list.push(["sampled", `${frame.percent[row]} %`]);
  if (lane.kind === "gpu") list.push(...ofOperation(timeline, links, { lane, row }, counters));
  const launched = lane.kind === "api" && links.of(row);
  if (launched) {
    list.push(["launched", `${launched.length} operation${launched.length > 1 ? "s" : ""}: ${
      timeline.labels[timeline.gpu.label[launched[0]]]}`]);
  }
  list.push(["on", lane.title]);
  return list;
};

module.exports = { facts };
