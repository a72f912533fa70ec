// What is known of an event: of the selected one below the canvas, of any beside the pointer.
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

const listed = (pairs) => element("dl", pairs.map(([name, text]) =>
  element("div", [element("dt", [name]), element("dd", [text])])));

// Writes what an event is into an element.
const write = (holder, timeline, links, { lane, row }) => holder.replaceChildren(
  element("b", [timeline.labels[lane.frame.label[row]]]),
  listed(facts(timeline, links, { lane, row }, counters)));

// The same of the selected one, with a link to its kernel; null: nothing.
const describe = (detail, timeline, links, event) => {
  detail.replaceChildren();
  if (!event) return;
  const { lane, row } = event;
  write(detail, timeline, links, event);
  const id = lane.kind === "gpu" ? lane.frame.kernel[row] : -1;
  if (id > 0 && rowOf(id)) {
    const link = element("a", [`kernel ${id} in the table`]);
    link.href = `#kernel-${id}`;
    detail.append(link);
  }
};

module.exports = { describe, element, listed, write };
