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
// { text, x, y }; widthOf: of a text, in pixels.
const layout = (dots, { left, right }, widthOf) => {
  const taken = [];
  for (const { point, at } of dots) {
    const text = shorten(point.name);
    const wide = widthOf(text);
    const far = bySize(point) + 3;
    const isFree = ({ x, y }) => x >= left && x + wide < right && taken.every((other) =>
      Math.abs(other.y - y) > LINE || other.x > x + wide || x > other.x + other.wide);
    const spot = [[far, 0], [-far - wide, 0], [-wide / 2, -far - 5], [-wide / 2, far + 5]]
      .map(([x, y]) => ({ x: at.x + x, y: at.y + y })).find(isFree);
    if (spot) taken.push({ text, ...spot, wide });
  }
  return taken;
};

// The name of each flat roof, above its right end.
const nameRoofs = (chart, pen) => {
  pen.textAlign = "right";
  for (const [index, { data, label }] of chart.data.datasets.entries()) {
    const end = chart.getDatasetMeta(index).data[1];
    if (data.length === 2 && !data[0].name && data[0].y === data[1].y) {
      pen.fillText(label, end.x - 4, end.y - 8);
    }
  }
  pen.textAlign = "left";
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
    for (const { text, x, y } of layout(dots.slice(0, named), chart.chartArea, widthOf)) {
      pen.fillText(text, x, y);
    }
    nameRoofs(chart, pen);
    pen.restore();
  },
};

module.exports = { bySize, layout, names, shorten };
