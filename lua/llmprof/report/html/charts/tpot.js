// A histogram of the times per output token.
"use strict";
const { axis, colour, options } = require("./style");

const tpot = ({ counts, edges }) => ({
  type: "bar",
  data: {
    labels: counts.map((_, i) => `${edges[i].toFixed(2)} to ${edges[i + 1].toFixed(2)}`),
    datasets: [{ label: "tokens", data: counts, backgroundColor: colour("s1"),
      categoryPercentage: 1, barPercentage: 0.96 }],
  },
  options: options({
    x: axis("ms per output token", { ticks: { maxRotation: 0,
      callback: (_, i) => `${edges[i].toFixed(1)}–${edges[i + 1].toFixed(1)}` } }),
    y: axis("tokens", { axis: { beginAtZero: true }, ticks: { precision: 0 } }),
  }, { title: ([item]) => `${item.label} ms` }, false),
});

module.exports = { tpot };
