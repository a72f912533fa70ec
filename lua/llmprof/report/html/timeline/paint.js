// The whole canvas: the axis, the lanes with their names, and what is selected.
"use strict";
const { cut, duration, tick } = require("./format");
const { lengthOf } = require("./lanes");
const { paintLane } = require("./paint_lane");
const { AXIS, ROW, topOf } = require("./scale");

const paintAxis = ({ pen, colours, view, to }) => {
  const { width, gutter, height } = view;
  const ticks = to.ticks(Math.max(2, Math.floor((width - gutter) / 110)));
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  pen.strokeStyle = colours.line;
  pen.fillStyle = colours.soft;
  pen.beginPath();
  for (const time of ticks) {
    const at = Math.round(to(time)) + 0.5;
    if (at < gutter) continue;
    pen.moveTo(at, AXIS - 4);
    pen.lineTo(at, height);
    if (at < width - 50) pen.fillText(tick(time, step), at + 3, 12);
  }
  pen.stroke();
};

const paintNames = ({ pen, colours, timeline, view }) => {
  const room = Math.floor((view.gutter - 8) / 6);
  pen.fillStyle = colours.paper;
  pen.fillRect(0, 0, view.gutter, view.height);
  for (const lane of timeline.lanes) {
    pen.fillStyle = lane.kind === "gpu" ? colours.ink : colours.soft;
    pen.fillText(cut(lane.title, room), 2, topOf(lane.index) + 12.5);
  }
};

// A frame around the event, and a line to what it launched or was launched by.
const paintSelected = ({ pen, colours, view, marked, to }, counterpart) => {
  if (!marked.event) return;
  const { lane, row } = marked.event;
  const left = to(lane.frame.start[row]);
  const wide = Math.max(2, to(lane.frame.start[row] + lengthOf(lane.frame, row)) - left);
  if (left + wide < view.gutter || left > view.width) return;
  pen.strokeStyle = colours.ink;
  pen.lineWidth = 2;
  pen.strokeRect(left, topOf(lane.index) + 1, wide, ROW - 3);
  pen.lineWidth = 1;
  const other = counterpart(marked.event);
  if (!other) return;
  pen.beginPath();
  pen.moveTo(to(other.lane.frame.start[other.row]), topOf(other.lane.index) + ROW / 2);
  pen.lineTo(left, topOf(lane.index) + ROW / 2);
  pen.strokeStyle = colours.accent;
  pen.stroke();
};

// The span that is measured.
const paintSpan = ({ pen, colours, view, marked, to }) => {
  if (!marked.span) return;
  const left = Math.max(to(marked.span.from), view.gutter);
  const right = Math.min(to(marked.span.until), view.width);
  if (right <= left) return;
  pen.fillStyle = colours.accent;
  pen.globalAlpha = 0.14;
  pen.fillRect(left, 0, right - left, view.height);
  pen.globalAlpha = 1;
  pen.fillRect(left, 0, 1, view.height);
  pen.fillRect(right - 1, 0, 1, view.height);
  const text = duration(marked.span.until - marked.span.from);
  const wide = pen.measureText(text).width + 8;
  if (wide > right - left) return;
  pen.fillRect((left + right - wide) / 2, 2, wide, AXIS - 6);
  pen.fillStyle = colours.paper;
  pen.fillText(text, (left + right - wide) / 2 + 4, 14);
};

// All of it; how long that took and what was in view is left at the canvas for tests.
const paint = (canvas, { colours, timeline, view, marked, counterpart }) => {
  const began = performance.now();
  const pen = canvas.getContext("2d");
  const to = view.to();
  const [from, until] = view.seen();
  const brush = { pen, colours, timeline, view, marked, to, from, until };
  pen.font = "11px system-ui, sans-serif";
  pen.clearRect(0, 0, view.width, view.height);
  pen.fillStyle = colours.paper;
  pen.fillRect(0, 0, view.width, view.height);
  paintAxis(brush);
  for (const lane of timeline.lanes) paintLane(brush, lane, topOf(lane.index));
  paintSelected(brush, counterpart);
  paintSpan(brush);
  paintNames(brush);
  canvas.dataset.paint = (performance.now() - began).toFixed(2);
  canvas.dataset.from = String(Math.round(from));
  canvas.dataset.until = String(Math.round(until));
};

module.exports = { paint };
