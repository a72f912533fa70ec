// The whole canvas: the axis, the lanes, and what is selected.
"use strict";
const { duration, tick } = require("./format");
const { lengthOf } = require("./lanes");
const { paintLane } = require("./paint_lane");
const { AXIS } = require("./rows");

// Lines of the axis below all lanes, and its marks above them, however far these scroll.
const paintGrid = ({ pen, colours, view, ticks, to }) => {
  pen.strokeStyle = colours.line;
  pen.beginPath();
  for (const time of ticks) {
    const at = Math.round(to(time)) + 0.5;
    pen.moveTo(at, AXIS - 4);
    pen.lineTo(at, view.height);
  }
  pen.stroke();
};

const paintAxis = ({ pen, colours, view, ticks, to, scrolled, fixed }) => {
  pen.fillStyle = colours.paper;
  pen.fillRect(0, scrolled, view.width, fixed);
  pen.fillStyle = colours.soft;
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : ticks[0] || 1;
  let free = view.gutter; // what is left of it is written on
  for (const time of ticks) {
    const [at, text] = [Math.round(to(time)) + 0.5, tick(time, step)];
    const end = at + 3 + pen.measureText(text).width;
    if (at < free || end > view.width) continue;
    pen.fillText(text, at + 3, scrolled + 12);
    free = end + 6;
  }
};

// Arrows from calls to what they launched.
const paintFlows = ({ pen, colours, view, to }, flows) => {
  pen.strokeStyle = colours.accent;
  pen.fillStyle = colours.accent;
  for (const [call, operation] of flows) {
    const [from, until] = [call, operation].map(({ lane, row }) => to(lane.frame.start[row]));
    if (Math.max(from, until) < view.gutter || Math.min(from, until) > view.width) continue;
    const [above, below] = [call, operation].map(({ lane }) => lane.top + lane.tall / 2);
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
  pen.strokeRect(left, lane.top + 1, wide, lane.tall - 3);
  pen.lineWidth = 1;
};

// The span that is measured.
const paintSpan = ({ pen, colours, view, marked, to, scrolled }) => {
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
  pen.fillRect((left + right - wide) / 2, scrolled + 2, wide, AXIS - 6);
  pen.fillStyle = colours.paper;
  pen.fillText(text, (left + right - wide) / 2 + 4, scrolled + 14);
};

const paintLanes = (brush) => {
  const { order, pinned } = brush.view.rows;
  for (const lane of order) if (!pinned.has(lane)) paintLane(brush, lane);
  paintAxis(brush);
  for (const lane of order) if (pinned.has(lane)) paintLane(brush, lane);
};

// All of it; how long that took and what was in view is left at the canvas for tests.
const paint = (canvas, { colours, timeline, view, marked, flows, scrolled, fixed }) => {
  const began = performance.now();
  const pen = canvas.getContext("2d");
  const to = view.to();
  const [from, until] = view.seen();
  const ticks = to.ticks(Math.max(3, Math.floor((view.width - view.gutter) / 110)));
  const brush = { pen, colours, timeline, view, marked, to, from, until, ticks, scrolled, fixed };
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = colours.paper;
  pen.fillRect(0, 0, view.width, view.height);
  paintGrid(brush);
  paintLanes(brush);
  for (const event of new Set([marked.event, marked.hovered])) if (event) paintFlows(brush, flows(event));
  paintSelected(brush);
  paintSpan(brush);
  pen.fillStyle = colours.paper;
  pen.fillRect(0, 0, view.gutter, view.height);
  canvas.dataset.paint = (performance.now() - began).toFixed(2);
  canvas.dataset.from = String(Math.round(from));
  canvas.dataset.until = String(Math.round(until));
};

module.exports = { paint };
