// The colours of the style sheet, light or dark, and those of labels.
"use strict";

const PALETTE = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
const NAMES = [...PALETTE, "ink", "soft", "line", "paper", "panel", "idle", "busy", "mark",
  "accent", "other"];

// The name of the colour of each label: by its letters, so that it is the same in every
// page; stages have theirs by their order, so that neighbours differ.
const namesOf = (labels, stages) => {
  const names = labels.map((text) => {
    let hash = 0;
    for (const letter of text) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
    return PALETTE[hash % PALETTE.length];
  });
  stages.forEach((name, i) => {
    const label = labels.indexOf(name);
    if (label >= 0) names[label] = PALETTE[i % PALETTE.length];
  });
  return names;
};

// { each colour by its name, of: those of labels by their numbers }
const read = ({ labels, stages }) => {
  const style = getComputedStyle(document.documentElement);
  const colours = Object.fromEntries(NAMES.map((name) =>
    [name, style.getPropertyValue(`--${name}`).trim()]));
  colours.of = namesOf(labels, stages).map((name) => colours[name]);
  return colours;
};

module.exports = { namesOf, read };
