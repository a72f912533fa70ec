// The lanes of a timeline: the rows of the frames that lie on each, by start, and what of a
// lane is at a time. Times are ns.
"use strict";

// The frame that a kind of lane has its rows from.
const KINDS = { stage: "mark", step: "mark", layer: "mark", gpu: "gpu", api: "api",
  range: "range", sample: "sample" };

// Rows whose longest length and sum of lengths are known together.
const BLOCK = 16;

const lengthOf = (frame, row) => {
  const value = frame.duration[row];
  return value > 0 ? value : 0;
};

// Rows of each lane, in the order of their frames; those without a start are left out.
const rowsOf = (timeline) => {
  const rows = timeline.lanes.map(() => []);
  for (const name of new Set(Object.values(KINDS))) {
    const frame = timeline[name] || { rows: 0 };
    for (let row = 0; row < frame.rows; row += 1) {
      const lane = rows[frame.lane[row]];
      if (lane && !Number.isNaN(frame.start[row])) lane.push(row);
    }
  }
  return rows;
};

const blocksOf = (frame, rows) => {
  const count = Math.ceil(rows.length / BLOCK);
  const [longest, sum] = [new Float64Array(count), new Float64Array(count)];
  rows.forEach((row, i) => {
    const [block, length] = [Math.floor(i / BLOCK), lengthOf(frame, row)];
    longest[block] = Math.max(longest[block], length);
    sum[block] += length;
  });
  return { longest, sum };
};

// Gives each frame the place of each row on its lane (`at`), each lane its index, frame, rows by
// start, for each of them the latest end so far
// (`until`, to find what is in view), their blocks, and its shares of 255 that were busy.
const arrange = (timeline) => {
  const rows = rowsOf(timeline);
  timeline.lanes.forEach((lane, index) => {
    const frame = timeline[KINDS[lane.kind]];
    const sorted = rows[index].sort((a, b) => frame.start[a] - frame.start[b]);
    let latest = -Infinity;
    lane.index = index;
    lane.frame = frame;
    lane.rows = Uint32Array.from(sorted);
    lane.blocks = blocksOf(frame, sorted);
    lane.until = Float64Array.from(sorted, (row) => {
      latest = Math.max(latest, frame.start[row] + lengthOf(frame, row));
      return latest;
    });
    lane.shares = [];
    if (!frame.at) frame.at = new Uint32Array(frame.rows);
    lane.rows.forEach((row, place) => { frame.at[row] = place; });
  });
  const { lane, share } = timeline.busy;
  lane.forEach((number, row) => timeline.lanes[number] && timeline.lanes[number].shares
    .push(share[row]));
  return timeline;
};

// The first place whose value is not below.
const lowerBound = (count, isBelow) => {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBelow(middle)) low = middle + 1; else high = middle;
  }
  return low;
};

// The first place of a lane that may end after a time.
const firstIn = (lane, time) => lowerBound(lane.rows.length, (i) => lane.until[i] <= time);

// The event of a lane at a time, the innermost: { lane, place, row }; null without.
const eventAt = (lane, time) => {
  let found = null;
  const { rows, frame } = lane;
  for (let i = firstIn(lane, time); i < rows.length && frame.start[rows[i]] <= time; i += 1) {
    const row = rows[i];
    if (frame.start[row] + lengthOf(frame, row) > time) found = { lane, place: i, row };
  }
  return found;
};

module.exports = { BLOCK, arrange, eventAt, firstIn, lengthOf };
