// Where in the timeline a row of a table or a finding is. A place is { from, until } in ns, or
// { kernels: numbers, line, module, operator, category, label, layer, stage }, some of them.
"use strict";
const { lengthOf } = require("./lanes");

// Tables have one row for the modules of all layers.
const allLayers = (text) => text.replace(/(^|\.)\d+(?=\.|$)/g, "$1*");

// Of each key how an operation of the GPU is told by it.
const tellers = ({ labels, categories, gpu }) => {
  const source = (name) => (row) => labels[(gpu[`${name}_label`] || [])[row]];
  return {
    label: (row) => labels[gpu.label[row]],
    category: (row) => categories[gpu.label[row]] || "other",
    line: source("line"),
    operator: source("operator"),
    module: (row) => { const text = source("module")(row); return text && allLayers(text); },
  };
};

const KEYS = ["line", "module", "operator", "label", "category"];

const eventOf = ({ lanes }, frame, row) => ({ lane: lanes[frame.lane[row]], row, place: frame.at[row] });

const byStart = (a, b) => a.lane.frame.start[a.row] - b.lane.frame.start[b.row];

// The marks of a kind of lanes whose label is this.
const marksOf = (timeline, kind, label) => timeline.lanes.filter((lane) => lane.kind === kind)
  .flatMap((lane) => [...lane.rows].filter((row) => timeline.labels[lane.frame.label[row]] === label)
    .map((row) => eventOf(timeline, lane.frame, row)));

// Those of a stage, or all where it has none: parts of a stage have names of their own.
const ofStage = ({ lanes, labels }, events, stage) => {
  const spans = lanes.filter(({ kind }) => kind === "stage").flatMap(({ frame, rows }) => [...rows]
    .filter((row) => labels[frame.label[row]] === stage)
    .map((row) => [frame.start[row], frame.start[row] + lengthOf(frame, row)]));
  const own = events.filter(({ lane, row }) => spans.some(([from, until]) =>
    lane.frame.start[row] >= from && lane.frame.start[row] < until));
  return own.length ? own : events;
};

const operations = (timeline, place) => {
  const { gpu } = timeline;
  const tell = tellers(timeline);
  const wanted = KEYS.filter((key) => place[key] !== undefined);
  const kernels = place.kernels && new Set(place.kernels);
  const events = [];
  for (let row = 0; row < gpu.rows; row += 1) {
    if ((!kernels || kernels.has(gpu.kernel[row])) && !Number.isNaN(gpu.start[row])
      && wanted.every((key) => tell[key](row) === place[key])) {
      events.push(eventOf(timeline, gpu, row));
    }
  }
  return events;
};

// The events of a place, by start.
const eventsOf = (timeline, place) => {
  const isOfGpu = place.kernels || KEYS.some((key) => place[key] !== undefined);
  if (place.layer !== undefined) return marksOf(timeline, "layer", `layer ${place.layer}`).sort(byStart);
  if (!isOfGpu) return marksOf(timeline, "stage", place.stage).sort(byStart);
  const events = operations(timeline, place);
  return (place.stage ? ofStage(timeline, events, place.stage) : events).sort(byStart);
};

// A function of a place: is any of it here?
const finder = (timeline) => {
  const { gpu, lanes, labels } = timeline;
  const tell = tellers(timeline);
  const known = Object.fromEntries(KEYS.map((key) => [key, new Set()]));
  for (let row = 0; row < gpu.rows; row += 1) for (const key of KEYS) known[key].add(tell[key](row));
  const kernels = new Set(gpu.kernel);
  const marks = (kind) => new Set(lanes.filter((lane) => lane.kind === kind).flatMap(({ frame, rows }) =>
    [...rows].map((row) => labels[frame.label[row]])));
  const [stages, layers] = [marks("stage"), marks("layer")];
  return (place) => {
    if (place.from !== undefined) return true;
    if (place.kernels) return place.kernels.some((id) => kernels.has(id));
    if (place.layer !== undefined) return layers.has(`layer ${place.layer}`);
    const wanted = KEYS.filter((key) => place[key] !== undefined);
    return wanted.length ? wanted.every((key) => known[key].has(place[key])) : stages.has(place.stage);
  };
};

module.exports = { eventsOf, finder };
