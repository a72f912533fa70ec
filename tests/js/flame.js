// The functions of a flame graph: who called whom, and where they are when one is zoomed.
"use strict";
const assert = require("assert").strict;
const test = require("node:test");
const modules = require("./support/modules");

const { canZoom, connect, firstCalled, layout, neighbour } = modules("flame/frames");

const made = () => connect([
  { name: "main", depth: 0, x: 0, width: 100 }, { name: "run", depth: 1, x: 0, width: 60 },
  { name: "leaf", depth: 2, x: 0, width: 60 }, { name: "other", depth: 1, x: 60, width: 30 }]);

test("each is called by the one above it", () => {
  assert.deepEqual(made().map(({ parent }) => parent && parent.name),
    [null, "main", "run", "main"]);
});

test("keys go to neighbours of the same depth, and to what was called", () => {
  const [main, run, leaf, other] = made();
  const frames = [main, run, leaf, other];
  assert.equal(neighbour(frames, run, 1), other);
  assert.equal(neighbour(frames, other, -1), run);
  assert.equal(neighbour(frames, other, 1), null);
  assert.equal(firstCalled(frames, run), leaf);
  assert.equal(firstCalled(frames, leaf), null);
});

test("what is zoomed is as wide as the graph, below those that called it", () => {
  const frames = made();
  assert.deepEqual(layout(frames, null).places.map(({ x, width }) => [x, width]),
    [[0, 100], [0, 60], [0, 60], [60, 30]]);
  const { rows, places } = layout(frames, frames[1]);
  assert.equal(rows, 3);
  assert.deepEqual(places.map(({ width, above, away }) => [Math.round(width), above, away]),
    [[100, true, false], [100, false, false], [100, false, false], [50, false, true]]);
  assert.equal(layout(frames, frames[3]).rows, 2);
  assert.deepEqual([canZoom(frames[0]), canZoom(frames[1])], [false, true]);
});
