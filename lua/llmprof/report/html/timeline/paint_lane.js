// A lane on the canvas. A brush is what the frame of the screen is drawn with:
// { pen, colours, timeline, view, marked, to, from, until }.
"use strict";
const bins = require("./bins");
const { cut } = require("./format");
const { lengthOf } = require("./lanes");
const { ROW } = require("./rows");

// Wide enough to write a name into; the width of a letter.
const NAMED = 12;
const LETTER = 6.2;

const waitOf = ({ frame }, row) => (frame.waiting && frame.waiting[row] > 0
  ? frame.waiting[row] : 0);

const fill = ({ colours }, lane, row) => {
  const list = colours.of[lane.kind];
  return list ? list[lane.frame.label[row]] : colours.other;
};

// What is written into an event: steps and layers are numbered.
const textOf = ({ labels }, lane, row) => {
  const text = labels[lane.frame.label[row]];
  const number = (lane.kind === "step" || lane.kind === "layer") && /\d+$/.exec(text);
  return number ? number[0] : text;
};

// From the foot of a lane upwards, by a share of its height.
const bar = (pen, lane, left, wide, share) => {
  const tall = (lane.tall - 4) * share;
  pen.fillRect(left, lane.top + lane.tall - 2 - tall, wide, tall);
};

// Where nothing is known one by one: how busy the lane was.
const paintShares = ({ pen, colours, timeline, view, to }, lane) => {
  pen.fillStyle = colours.other;
  for (const { start, end, share } of bins.shares(lane, timeline)) {
    const left = Math.max(to(start), view.gutter);
    const right = Math.min(to(end), view.width);
    if (right > left) bar(pen, lane, left, right - left, Math.max(share, 1 / ROW));
  }
};

const paintText = ({ pen, colours, view }, text, left, right, top) => {
  const from = Math.max(left, view.gutter) + 2;
  const room = Math.floor((Math.min(right, view.width) - from - 1) / LETTER);
  if (room < Math.min(3, text.length)) return;
  pen.fillStyle = colours.paper;
  pen.fillText(cut(text, room), from, top + 12.5);
};

const paintEvent = (brush, lane, row, left, right) => {
  const { pen, colours, timeline } = brush;
  const { frame, top, tall } = lane;
  pen.fillStyle = fill(brush, lane, row);
  pen.fillRect(left, top + 1, right - left, tall - 3);
  // a collective: waiting until the last rank arrived, then transfer
  const waiting = waitOf(lane, row);
  if (waiting > 0 && lengthOf(frame, row) > 0) {
    pen.fillStyle = colours.late;
    pen.fillRect(left, top + 1, (right - left) * Math.min(1, waiting / lengthOf(frame, row)), tall - 3);
  }
  if (right - left > NAMED && tall === ROW) {
    paintText(brush, textOf(timeline, lane, row), left, right, top);
  }
};

const inView = ({ to, from, until, view }) => ({ to, from, until, gutter: view.gutter,
  width: view.width });

// Samples are as tall as their percents.
const paintSamples = (brush, lane) => {
  const { pen } = brush;
  pen.fillStyle = brush.colours.accent;
  bins.samples(lane, inView(brush), (left, wide, percent) =>
    bar(pen, lane, left, wide, Math.min(percent, 100) / 100));
};

// Pixels that events share are as dense as they cover them.
const paintEvents = (brush, lane) => {
  const { pen, view, marked } = brush;
  const shown = marked.shown && (marked.shown.get(lane.frame) || []);
  const dimmed = shown && ((row) => !shown[row]);
  const dim = (row) => (dimmed && dimmed(row) ? 0.15 : 1);
  bins.events(lane, inView(brush), dimmed, {
    wide: (row, left, right) => {
      pen.globalAlpha = dim(row);
      paintEvent(brush, lane, row, Math.max(left, view.gutter - 1),
        Math.min(right, view.width + 1));
    },
    narrow: (pixel, covered, row) => {
      pen.globalAlpha = Math.min(1, 0.25 + covered) * dim(row);
      pen.fillStyle = 2 * waitOf(lane, row) > lengthOf(lane.frame, row) ? brush.colours.late
        : fill(brush, lane, row);
      pen.fillRect(pixel, lane.top + 1, 1, lane.tall - 3);
    },
  });
  pen.globalAlpha = 1;
};

const paintLane = (brush, lane) => {
  brush.pen.fillStyle = brush.colours.line;
  brush.pen.fillRect(0, lane.top + lane.tall - 1, brush.view.width, 0.5);
  paintShares(brush, lane);
  (lane.kind === "sample" ? paintSamples : paintEvents)(brush, lane);
};

module.exports = { paintLane };
