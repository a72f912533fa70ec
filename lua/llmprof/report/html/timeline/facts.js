// What is known of an event, as a list of [name, text].
"use strict";
const { duration } = require("./format");
const { eventAt, lengthOf } = require("./lanes");

// The names of what a rank's lanes of a kind have at a time.
const around = ({ lanes, labels }, kind, time, rank) => [...new Set(lanes
  .filter((lane) => lane.kind === kind && lane.rank === rank)
  .map((lane) => eventAt(lane, time)).filter(Boolean)
  .map(({ lane, row }) => labels[lane.frame.label[row]]))].join("; ");

// Of an operation of the GPU; counters: a text of a kernel's number, "" without.
const ofOperation = (timeline, links, { lane, row }, counters) => {
  const { labels, stages, api } = timeline;
  const { frame } = lane;
  const list = [];
  if (frame.place[row] >= 0) list.push(["stage", stages[frame.place[row]]]);
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

// `first`: when the timeline begins, ns.
const facts = (timeline, links, { lane, row }, first, counters) => {
  const { frame } = lane;
  const start = frame.start[row];
  const list = [["on", lane.title], ["from", duration(start - first)],
    ["took", duration(lengthOf(frame, row))]];
  if (lane.kind === "sample") list.push(["sampled", `${frame.percent[row]} %`]);
  if (lane.kind === "gpu") list.push(...ofOperation(timeline, links, { lane, row }, counters));
  const launched = lane.kind === "api" && links.of(row);
  if (launched) {
    list.push(["launched", `${launched.length} operation${launched.length > 1 ? "s" : ""}: ${
      timeline.labels[timeline.gpu.label[launched[0]]]}`]);
  }
  for (const kind of ["step", "layer"]) {
    const said = lane.kind !== kind && around(timeline, kind, start, lane.rank);
    if (said) list.push([kind, said]);
  }
  return list;
};

module.exports = { facts };
