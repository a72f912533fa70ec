// From rows of the page's tables to the timeline: a kernel's launches, a gap.
"use strict";

// The first cell of a row as a button.
const makeJump = (row, title, action) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "jump";
  button.title = title;
  button.textContent = row.cells[0].textContent;
  button.addEventListener("click", action);
  row.cells[0].replaceChildren(button);
};

const rowsOf = (table) => document.querySelectorAll(
  `#table-${table}s tbody tr[id^='${table}-']`);

const create = ({ figure, canvas, timeline, view, select, search }) => {
  const toTimeline = () => {
    figure.scrollIntoView({ block: "start" });
    canvas.focus({ preventScroll: true });
  };
  const known = new Set(timeline.gpu.kernel);
  for (const row of rowsOf("kernel")) {
    const id = Number(row.id.slice("kernel-".length));
    if (!known.has(id)) continue;
    makeJump(row, "show its launches in the timeline", () => {
      toTimeline();
      search.launches(id);
    });
  }
  for (const row of rowsOf("gap")) {
    const [start, took] = row.id.split("-").slice(1).map(Number);
    makeJump(row, "show it in the timeline", () => {
      select(null);
      view.lookAt(start - took, start + 2 * took);
      toTimeline();
    });
  }
};

module.exports = { create };
