// Which call launched which operations of the GPU: by the time that the call began.
"use strict";

// An event of a row: { lane, row, place on the lane }
const placed = (lanes, frame, row) => {
  const lane = lanes[frame.lane[row]];
  return { lane, row, place: frame.at[row] };
};

// { of: the rows of operations that a call of a row launched, or undefined; counterpart: of an
// operation its call, as an event, or null; flows: [from, to] of an event, as events: from a call
// to what it launched, all of a graph, and from the rank that reached a collective last to
// the others, which waited for it }
const link = ({ lanes, gpu, api }) => {
  const byLaunch = new Map();
  for (let row = 0; row < gpu.rows; row += 1) {
    const start = gpu.api_start[row];
    if (Number.isNaN(start)) continue;
    if (byLaunch.has(start)) byLaunch.get(start).push(row); else byLaunch.set(start, [row]);
  }
  const matched = new Map();
  for (let row = 0; gpu.match && row < gpu.rows; row += 1) {
    const number = gpu.match[row];
    if (!(number > 0)) continue;
    if (matched.has(number)) matched.get(number).push(row); else matched.set(number, [row]);
  }
  const callAt = new Map();
  for (let row = 0; row < api.rows; row += 1) callAt.set(api.start[row], row);

  const of = (row) => byLaunch.get(api.start[row]);
  const counterpart = ({ lane, row }) => {
    const call = lane.kind === "gpu" ? callAt.get(gpu.api_start[row]) : undefined;
    return call === undefined ? null : placed(lanes, api, call);
  };
  const flows = (event) => {
    if (event.lane.kind === "api") {
      return (of(event.row) || []).map((row) => [event, placed(lanes, gpu, row)]);
    }
    const call = counterpart(event);
    const launch = call ? [[call, event]] : [];
    const rows = (event.lane.kind === "gpu" && gpu.match && matched.get(gpu.match[event.row])) || [];
    const last = Math.max(...rows.map((row) => gpu.start[row]));
    const [from, ...others] = [...rows].sort((a, b) => (gpu.start[b] === last) - (gpu.start[a] === last))
      .map((row) => placed(lanes, gpu, row));
    return [...launch, ...others.map((other) => [from, other])];
  };
  return { of, counterpart, flows };
};

module.exports = { link };
