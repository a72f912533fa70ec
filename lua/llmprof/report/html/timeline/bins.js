// What of a lane is drawn by itself and what shares a pixel. `given` is what is in view:
// { to: the linear scale from ns to pixels, from, until: ns, gutter, width: pixels }.
"use strict";
const { BLOCK, firstIn, lengthOf } = require("./lanes");

// The same as `to`, for hundreds of thousands of events a frame: { zero: of `from`, perNs }.
const scaleOf = ({ to, from, until }) => ({ zero: to(from),
  perNs: (to(until) - to(from)) / (until - from) });

// Calls wide(row, left, right) for an event of a pixel or more, and narrow(pixel, covered,
// row) for a pixel that narrower ones share: how much of it they cover, and one of them
// that is not `dimmed` (asked by its row; null: none is) if there is such a one.
const events = (lane, given, dimmed, { wide, narrow }) => {
  const { rows, frame, blocks } = lane;
  const { from, until, gutter } = given;
  const { zero, perNs } = scaleOf(given);
  let [pixel, covered, last] = [-1, 0, 0];
  const flush = () => {
    if (pixel >= 0) narrow(pixel, covered, last);
    [pixel, covered] = [-1, 0];
  };
  const pixelOf = (i) => Math.floor(zero + (frame.start[rows[i]] - from) * perNs);
  // a block of rows that share a pixel, as a whole
  const isOneOf = (i, here) => !dimmed && i % BLOCK === 0 && i + BLOCK <= rows.length
    && blocks.longest[i / BLOCK] * perNs < 1 && pixelOf(i + BLOCK - 1) === here;
  for (let i = firstIn(lane, from); i < rows.length; i += 1) {
    const row = rows[i];
    const start = frame.start[row];
    if (start >= until) break;
    const left = zero + (start - from) * perNs;
    const right = left + lengthOf(frame, row) * perNs;
    if (right < gutter) continue;
    if (right - left >= 1) {
      flush();
      wide(row, left, right);
      continue;
    }
    const here = Math.floor(left);
    if (here !== pixel) { flush(); [pixel, last] = [here, row]; }
    if (isOneOf(i, here)) {
      covered += blocks.sum[i / BLOCK] * perNs;
      i += BLOCK - 1;
      continue;
    }
    covered += right - left;
    if (dimmed && !dimmed(row)) last = row;
  }
  flush();
};

// Calls bar(left, wide, percent) for each sample of a pixel or more, and for each pixel
// that narrower ones share with their mean.
const samples = (lane, given, bar) => {
  const { rows, frame } = lane;
  const { to, from, until, gutter, width } = given;
  let [pixel, sum, count] = [-1, 0, 0];
  const flush = () => {
    if (count) bar(pixel, 1, sum / count);
    [sum, count] = [0, 0];
  };
  for (let i = firstIn(lane, from); i < rows.length; i += 1) {
    const row = rows[i];
    const left = Math.max(to(frame.start[row]), gutter);
    const right = Math.min(to(frame.start[row] + lengthOf(frame, row)), width);
    if (frame.start[row] >= until) break;
    if (right - left >= 1) {
      flush();
      bar(left, right - left, frame.percent[row]);
      continue;
    }
    if (Math.floor(left) !== pixel) { flush(); pixel = Math.floor(left); }
    sum += frame.percent[row];
    count += 1;
  }
  flush();
};

// The shares of a lane's whole time in which it was busy, as { start, end, share }: those
// outside of the window in which each event is known.
const shares = (lane, { span, window }) => {
  const count = lane.shares.length;
  const list = lane.shares.map((share, i) => {
    const start = span.first + ((span.last - span.first) * i) / count;
    return { start, end: start + (span.last - span.first) / count, share: share / 255 };
  });
  return list.filter(({ start, end, share }) => share
    && !(end > window.first && start < window.last));
};

module.exports = { events, samples, shares };
