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

// Arrows from calls to what they launched.
const paintFlows = ({ pen, colours, view, to }, flows) => {
  pen.strokeStyle = colours.accent;
  pen.fillStyle = colours.accent;
  for (const [call, operation] of flows) {
    const [from, until] = [call, operation].map(({ lane, row }) => to(lane.frame.start[row]));
    if (Math.max(from, until) < view.gutter || Math.min(from, until) > view.width) continue;
    const [above, below] = [call, operation].map(({ lane }) => topOf(lane.index) + ROW / 2);
    const bend = Math.max(12, (until - from) / 2);
    pen.beginPath();
    pen.moveTo(from, above);
    pen.bezierCurveTo(from + bend, above, until - bend, below, until - 5, below);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(until, below);
    pen.lineTo(until - 6, below - 4);
    pen.lineTo(until - 6, below + 4);
    pen.fill();
  }
};

// A frame around the event.
const paintSelected = ({ pen, colours, view, marked, to }) => {
  if (!marked.event) return;
  const { lane, row } = marked.event;
  const left = to(lane.frame.start[row]);
  const wide = Math.max(2, to(lane.frame.start[row] + lengthOf(lane.frame, row)) - left);
  if (left + wide < view.gutter || left > view.width) return;
  pen.strokeStyle = colours.ink;
  pen.lineWidth = 2;
  pen.strokeRect(left, topOf(lane.index) + 1, wide, ROW - 3);
  pen.lineWidth = 1;
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
const paint = (canvas, { colours, timeline, view, marked, flows }) => {
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
  for (const event of new Set([marked.event, marked.hovered])) if (event) paintFlows(brush, flows(event));
  paintSelected(brush);
  paintSpan(brush);
  paintNames(brush);
  canvas.dataset.paint = (performance.now() - began).toFixed(2);
  canvas.dataset.from = String(Math.round(from));
  canvas.dataset.until = String(Math.round(until));
};

module.exports = { paint };
