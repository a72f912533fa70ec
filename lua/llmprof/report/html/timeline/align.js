// Two timelines beside each other, aligned by step: what is at the left edge of one is so in the
// other, both to the same scale. Times are ns.
"use strict";

// By name when stages and steps of what is shown first begin.
const beginnings = ({ lanes, labels, view }) => {
  const found = new Map();
  for (const { kind, frame, rows } of lanes) {
    if (kind !== "stage" && kind !== "step") continue;
    for (const row of rows) {
      const [start, name] = [frame.start[row], labels[frame.label[row]]];
      if (start >= view.first && start < view.last && !found.has(name)) found.set(name, start);
    }
  }
  return found;
};

// Pairs of times of what both have, rising in both; those where each begins if they have nothing
// in common.
const pairsOf = (before, after) => {
  const there = beginnings(after);
  const list = [...beginnings(before)].filter(([name]) => there.has(name))
    .map(([name, start]) => [start, there.get(name)]).sort((a, b) => a[0] - b[0]);
  const rising = [];
  for (const pair of list) {
    const last = rising[rising.length - 1];
    if (!last || (pair[0] > last[0] && pair[1] > last[1])) rising.push(pair);
  }
  return rising.length ? rising : [[before.view.first, after.view.first]];
};

// A function from a time of one to that of the other: between two pairs in proportion, outside
// of them as far away.
const mapOf = (pairs, from = 0) => (time) => {
  const to = 1 - from;
  const i = pairs.findIndex((pair) => pair[from] > time);
  const [low, high] = [pairs[i < 0 ? pairs.length - 1 : i - 1], pairs[i]];
  if (!low) return high[to] + time - high[from];
  if (!high) return low[to] + time - low[from];
  return low[to] + ((time - low[from]) / (high[from] - low[from])) * (high[to] - low[to]);
};

// Ranges of one length around the first pair, so that each has room for what the other shows.
const reachesOf = (ranges, pair) => {
  const before = Math.max(...ranges.map(({ first }, i) => pair[i] - first));
  const after = Math.max(...ranges.map(({ last }, i) => last - pair[i]));
  return pair.map((time) => ({ first: time - before, last: time + after }));
};

// Each view follows the one that was touched last. shown: list of { figure, view }.
const follow = (shown, pairs) => {
  let active = shown[0];
  for (const one of shown) {
    for (const name of ["pointerdown", "wheel", "keydown", "click", "focusin"]) {
      one.figure.addEventListener(name, () => { active = one; }, { capture: true, passive: true });
    }
    one.view.drawn = () => {
      if (one !== active) return;
      const other = shown.find((each) => each !== one);
      const [from, until] = one.view.seen();
      const start = mapOf(pairs, shown.indexOf(one))(from);
      other.view.lookAt(start, start + until - from);
    };
  }
  shown[0].view.redraw();
};

module.exports = { follow, mapOf, pairsOf, reachesOf };
