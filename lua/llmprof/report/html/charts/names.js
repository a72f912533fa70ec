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

// Those dots { point, at } whose names are free of one another, the largest first, as
// { text, x, y }; widthOf: of a text, in pixels.
const layout = (dots, { left, right }, widthOf) => {
  const taken = [];
  for (const { point, at } of dots) {
    const text = shorten(point.name);
    const wide = widthOf(text);
    const far = bySize(point) + 3;
    const x = at.x + far + wide < right ? at.x + far : Math.max(left, at.x - far - wide);
    const isFree = taken.every((other) => Math.abs(other.y - at.y) > LINE
      || other.x > x + wide || x > other.x + other.wide);
    if (isFree) taken.push({ text, x, y: at.y, wide });
  }
  return taken;
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
    const widthOf = (text) => pen.measureText(text).width;
    const named = NAMED + dots.filter(({ point }) => isStage(point)).length;
    for (const { text, x, y } of layout(dots.slice(0, named), chart.chartArea, widthOf)) {
      pen.fillText(text, x, y + 4);
    }
    pen.restore();
  },
};

module.exports = { bySize, layout, names, shorten };
