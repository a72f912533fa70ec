// Finding events by the words of their labels, showing those of a place, and going through them.
"use strict";
const { count } = require("./format");

// The numbers of the labels that have every word of a text, whatever the case; null without
// a word.
const labelsWith = (labels, text) => {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  return new Set(labels.map((_, i) => i).filter((i) =>
    words.every((word) => labels[i].toLowerCase().includes(word))));
};

const byStart = (a, b) => a.lane.frame.start[a.row] - b.lane.frame.start[b.row];

const COLUMNS = ["label", "operator_label", "module_label", "line_label"];

// The events of these labels, or of what was launched by one, on all lanes, or on those of some
// kinds, by start. columns: which labels of an event count.
const eventsOf = (lanes, wanted, kinds, columns = COLUMNS) => lanes
  .filter(({ kind }) => !kinds || kinds.includes(kind))
  .flatMap((lane) => {
    const there = columns.map((name) => lane.frame[name]).filter(Boolean);
    return [...lane.rows].map((row, place) => ({ lane, place, row }))
      .filter(({ row }) => there.some((labels) => wanted.has(labels[row])));
  }).sort(byStart);

// The first of them in what is shown first, a repeat that counts; else the first.
const firstOf = (events, { first, last }) => Math.max(0, events.findIndex(({ lane, row }) =>
  lane.frame.start[row] >= first && lane.frame.start[row] < last));

// Which rows of each frame are among these events.
const flagsOf = (events) => {
  const flags = new Map();
  for (const { lane: { frame }, row } of events) {
    if (!flags.has(frame)) flags.set(frame, new Uint8Array(frame.rows));
    flags.get(frame)[row] = 1;
  }
  return flags;
};

// { step(by), show(events), only(labels, kinds), clear(), focus() } of the field of a search and
// its status; changed(f): f is called where something else is looked for. Others are dimmed.
const create = ({ input, status, timeline, view, marked, select }) => {
  let matches = [];
  let current = -1;
  const listeners = [];

  const keep = (events, said) => {
    for (const listener of listeners) listener();
    [marked.shown, matches, current] = [events && flagsOf(events), events || [], -1];
    status.textContent = said;
    view.redraw();
  };
  const lookFor = (text) => {
    const wanted = labelsWith(timeline.labels, text);
    const events = wanted && eventsOf(timeline.lanes, wanted);
    keep(events, wanted ? `${count(events.length)} events` : "");
  };
  const step = (by) => {
    if (!matches.length) return;
    current = (current + by + matches.length) % matches.length;
    status.textContent = `${count(current + 1)} of ${count(matches.length)} events`;
    select(matches[current], true);
  };
  const clear = () => {
    input.value = "";
    lookFor("");
  };
  const only = (labels, kinds) => {
    input.value = "";
    const events = eventsOf(timeline.lanes, labels, kinds, ["label"]);
    keep(events, `${count(events.length)} events`);
  };
  const show = (events) => {
    input.value = "";
    keep(events, "");
    current = firstOf(events, timeline.view) - 1;
    step(1);
  };
  input.addEventListener("input", () => lookFor(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    step(event.shiftKey ? -1 : 1);
    event.preventDefault();
  });
  const changed = (listener) => listeners.push(listener);
  return { step, show, only, clear, changed, focus: () => input.focus() };
};

module.exports = { create, eventsOf, firstOf, flagsOf, labelsWith };
