// What is known of the selected event, below the canvas.
"use strict";
const { facts } = require("./facts");

const COUNTERS = ["bound", "at %", "SM %", "DRAM %", "occupancy %", "AI FLOP/B"];

// The row of a kernel in the table of kernels.
const rowOf = (id) => document.getElementById(`kernel-${id}`);

// What that row has of its counters.
const counters = (id) => {
  const row = rowOf(id);
  if (!row) return "";
  const heads = [...row.closest("table").tHead.rows[0].cells].map((cell) => cell.textContent);
  return COUNTERS.map((head) => {
    const cell = row.cells[heads.indexOf(head)];
    return cell && cell.textContent ? `${head} ${cell.textContent}` : "";
  }).filter(Boolean).join(", ");
};

const element = (tag, content) => {
  const made = document.createElement(tag);
  made.append(...content);
  return made;
};

// Writes about an event into an element; null: nothing.
const describe = (detail, timeline, links, event, first) => {
  detail.replaceChildren();
  if (!event) return;
  const { lane, row } = event;
  const list = facts(timeline, links, event, first, counters).map(([name, text]) =>
    element("div", [element("dt", [name]), element("dd", [text])]));
  detail.append(element("b", [timeline.labels[lane.frame.label[row]]]), element("dl", list));
  const id = lane.kind === "gpu" ? lane.frame.kernel[row] : -1;
  if (id > 0 && rowOf(id)) {
    const link = element("a", [`kernel ${id} in the table`]);
    link.href = `#kernel-${id}`;
    detail.append(link);
  }
};

module.exports = { describe };
