// Each stage by category of kernel, as stacked bars.
"use strict";
const { axis, colour, options } = require("./style");

const ms = (value) => `${Number(value.toPrecision(4))} ms`;

// colours: by category the name of its own.
const categories = ({ stages, series }, colours) => ({
  type: "bar",
  data: {
    labels: stages,
    datasets: series.map(({ name, ms: values }) => ({
      label: name, data: values, backgroundColor: colour(colours[name] || "other"),
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
