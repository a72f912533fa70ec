// Names beside the dots of stages and of the kernels with the largest shares, where there is room.
"use strict";
const { colour } = require("./style");

const NAMED = 8;
const LINE = 12; // pixels

// The area of a dot is its kernel's share of the GPU time.
const bySize = (point) => 4 + 26 * Math.sqrt(point.share || 0);

// A name of at most 30 letters, or its first and its last ones.
const shorten = (name, most = 30, first = 20, last = 8) => (name.length > most
  ? `${name.slice(0, first)}…${name.slice(-last)}` : name);

const isStage = (point) => point.stage && point.name === point.stage;

// Those dots { point, at } whose names have room beside them, above or below, the largest first, as
// { text, x, y }; widthOf: of a text, in pixels; marks: dots and boxes { x, y, wide } that no name
// may cover.
const layout = (dots, { left, right }, widthOf, marks = []) => {
  const taken = [];
  for (const { point, at } of dots) {
    const text = shorten(point.name);
    const wide = widthOf(text);
    const far = bySize(point) + 3;
    const isFree = ({ x, y }) => x >= left && x + wide < right
      && [...taken, ...marks].every((other) => other.of === point
        || Math.abs(other.y - y) > LINE || other.x > x + wide || x > other.x + other.wide);
    const spot = [[far, 0], [-far - wide, 0], [-wide / 2, -far - 5], [-wide / 2, far + 5]]
      .map(([x, y]) => ({ x: at.x + x, y: at.y + y })).find(isFree);
    if (spot) taken.push({ text, ...spot, wide });
  }
  return taken;
};

// The name of each flat roof, above its right end.
const roofNames = (chart, widthOf) => chart.data.datasets.flatMap(({ data, label }, index) => {
  if (data.length !== 2 || data[0].name || data[0].y !== data[1].y) return [];
  const { x, y } = chart.getDatasetMeta(index).data[1];
  const wide = widthOf(label);
  return [{ text: label, x: x - 4 - wide, y: y - 8, wide }];
});

// A dot as a box; `of` is its own name's, which may touch it.
const boxOf = ({ point, at }) => {
  const far = isStage(point) ? 7 : bySize(point) / 2;
  return { of: point, x: at.x - far, y: at.y, wide: 2 * far };
};

// A plugin of Chart.js.
const names = {
  id: "names",
  afterDatasetsDraw: (chart) => {
    const dots = chart.data.datasets.flatMap((set, index) => set.data
      .map((point, i) => ({ point, at: chart.getDatasetMeta(index).data[i] }))
      .filter(({ point }) => (point.share || isStage(point)) && point.memory !== "L2"));
    const share = ({ point }) => (isStage(point) ? 1 : point.share);
    dots.sort((a, b) => share(b) - share(a));
    const pen = chart.ctx;
    pen.save();
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = colour("ink");
    pen.textBaseline = "middle";
    const widthOf = (text) => pen.measureText(text).width;
    const named = NAMED + dots.filter(({ point }) => isStage(point)).length;
    const shown = dots.slice(0, named);
    const roofs = roofNames(chart, widthOf);
    const texts = layout(shown, chart.chartArea, widthOf, [...roofs, ...shown.map(boxOf)]);
    for (const { text, x, y } of [...roofs, ...texts]) pen.fillText(text, x, y);
    pen.restore();
  },
};

module.exports = { bySize, layout, names, shorten };
