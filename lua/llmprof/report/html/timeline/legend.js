// The legend: what each colour is. A click on a category shows its events alone.
"use strict";
const { legendOf } = require("./colours");

const entryOf = ({ name, colour, isCategory }) => {
  const entry = document.createElement(isCategory ? "button" : "span");
  const swatch = document.createElement("i");
  swatch.style.background = `var(--${colour})`;
  entry.append(swatch, name);
  if (isCategory) {
    entry.type = "button";
    entry.setAttribute("aria-pressed", "false");
  }
  return entry;
};

const create = ({ holder, timeline, table, search }) => {
  const { categories, gpu } = timeline;
  const labelsOf = (name) => new Set([...new Set(gpu.label)].filter((label) =>
    (categories[label] || "other") === name));
  for (const given of legendOf(timeline, table)) {
    const entry = entryOf(given);
    holder.append(entry);
    if (!given.isCategory) continue;
    entry.addEventListener("click", () => {
      const isOn = entry.getAttribute("aria-pressed") === "true";
      if (isOn) search.clear(); else search.only(labelsOf(given.name), ["gpu"]);
      entry.setAttribute("aria-pressed", String(!isOn));
    });
  }
  search.changed(() => {
    for (const entry of holder.querySelectorAll("button")) entry.setAttribute("aria-pressed", "false");
  });
};

module.exports = { create };
