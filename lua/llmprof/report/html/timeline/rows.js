// Where lanes lie, one below the other: in an order that the reader may change; pinned ones stay
// below the axis while the others scroll, collapsed ones are thin. Pixels.
"use strict";

const [ROW, THIN, AXIS] = [18, 6, 22];

// { order: lanes from top to bottom, pinned, collapsed: sets of lanes }
const create = (lanes) => ({ order: [...lanes], pinned: new Set(), collapsed: new Set() });

const isTall = (rows, lane) => !rows.collapsed.has(lane);

// Gives each lane its `top` and `tall`; { height of all, fixed: of the axis and what is pinned }.
// scrolled: how far the others are.
const place = (rows, scrolled) => {
  let top = AXIS;
  const put = (lane, shift) => {
    lane.top = top + shift;
    lane.tall = isTall(rows, lane) ? ROW : THIN;
    top += lane.tall;
  };
  for (const lane of rows.order) if (rows.pinned.has(lane)) put(lane, scrolled);
  const fixed = top;
  for (const lane of rows.order) if (!rows.pinned.has(lane)) put(lane, 0);
  return { height: top + 2, fixed };
};

// The lane at a height; undefined: none.
const laneAt = (rows, y) => {
  const isThere = (lane) => y >= lane.top && y < lane.top + lane.tall;
  return rows.order.find((lane) => rows.pinned.has(lane) && isThere(lane)) || rows.order.find(isThere);
};

// A lane by so many places down among the pinned or the other ones, or up; at an end it stays.
const move = (rows, lane, by) => {
  const group = rows.order.filter((other) => rows.pinned.has(other) === rows.pinned.has(lane));
  const other = group[group.indexOf(lane) + by];
  if (!other) return;
  rows.order.splice(rows.order.indexOf(lane), 1);
  rows.order.splice(rows.order.indexOf(other) + (by > 0 ? 1 : 0), 0, lane);
};

const toggle = (set, lanes, isIn) => {
  for (const lane of lanes) if (isIn) set.add(lane); else set.delete(lane);
};

module.exports = { AXIS, ROW, create, laneAt, move, place, toggle };
