// Each stage by category of kernel, as stacked bars.
"use strict";
const { axis, colour, options } = require("./style");

const PALETTE = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

const ms = (value) => `${Number(value.toPrecision(4))} ms`;

const seriesColour = (name, index) => {
  if (name === "GPU idle") return colour("none");
  return colour(name === "other" ? "other" : PALETTE[index]);
};

const categories = ({ stages, series }) => ({
  type: "bar",
  data: {
    labels: stages,
    datasets: series.map(({ name, ms: values }, index) => ({
      label: name, data: values, backgroundColor: seriesColour(name, index),
      maxBarThickness: 34,
    })),
  },
  options: {
    ...options({
      x: { ...axis("ms of one range, by category of kernel"), stacked: true },
      y: { ...axis(""), stacked: true },
    }, { label: (item) => `${item.dataset.label}: ${ms(item.parsed.x)}` }),
    indexAxis: "y",
  },
});

module.exports = { categories };
