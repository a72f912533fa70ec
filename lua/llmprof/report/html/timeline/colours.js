// The colours of the style sheet, light or dark, and what each event has of them.
"use strict";

const NAMES = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13",
  "c14", "c15", "s0", "s1", "ink", "soft", "line", "paper", "panel", "late", "mark", "accent", "other",
  "wait"];

const WAITS = /Synchronize/;

// Two colours in turn, for each row of stages by when one first begins.
const stagesOf = (lanes, labels) => {
  const names = labels.map(() => "other");
  for (const { kind, frame, rows } of lanes) {
    if (kind !== "stage") continue;
    [...new Set([...rows].map((row) => frame.label[row]))].forEach((label, i) => {
      names[label] = `s${i % 2}`;
    });
  }
  return names;
};

// The colour of each label, by name: `gpu` by its category, as all charts of the page have
// it (`table`); `stage` by its place among stages, so that neighbours differ; `api`: does it
// wait for the GPU?
const namesOf = ({ labels, categories, lanes }, table) => ({
  gpu: categories.map((category) => table[category] || "other"),
  stage: stagesOf(lanes, labels),
  api: labels.map((label) => (WAITS.test(label) ? "wait" : "other")),
});

// { each colour by its name, of: by kind of lane those of labels by their numbers }
const read = (timeline, table) => {
  const style = getComputedStyle(document.documentElement);
  const colours = Object.fromEntries(NAMES.map((name) =>
    [name, style.getPropertyValue(`--${name}`).trim()]));
  colours.of = {};
  for (const [kind, names] of Object.entries(namesOf(timeline, table))) {
    colours.of[kind] = names.map((name) => colours[name]);
  }
  return colours;
};

// What the legend explains: { name, colour, ns, isCategory } each, categories by their time.
const legendOf = ({ gpu, api, categories, labels }, table) => {
  const sums = new Map();
  let isWaiting = false;
  for (let row = 0; row < gpu.rows; row += 1) {
    const name = categories[gpu.label[row]] || "other";
    sums.set(name, (sums.get(name) || 0) + (gpu.duration[row] || 0));
    if (gpu.waiting && gpu.waiting[row] > 0) isWaiting = true;
  }
  const list = [...sums].sort((a, b) => b[1] - a[1]).map(([name, ns]) =>
    ({ name, colour: table[name] || "other", ns, isCategory: true }));
  if (isWaiting) list.push({ name: "waits for other ranks", colour: "late" });
  const used = new Set(api.label);
  if ([...used].some((label) => WAITS.test(labels[label]))) {
    list.push({ name: "the CPU waits for the GPU", colour: "wait" });
  }
  return list;
};

module.exports = { legendOf, namesOf, read };
