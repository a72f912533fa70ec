// What all charts look like. Colours are those of the style sheet: light, dark, or paper.
"use strict";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);

// `more`: what its ticks have besides, and what the axis has.
const axis = (title, more = {}) => ({
  title: { display: true, text: title, color: colour("soft") },
  grid: { color: colour("line"), drawBorder: false },
  ticks: { color: colour("soft"), ...more.ticks },
  ...more.axis,
});

const options = (scales, tooltip, legend = true, labels = {}) => ({
  maintainAspectRatio: false,
  animation: false,
  scales,
  plugins: {
    legend: { display: legend, position: "bottom",
      labels: { color: colour("ink"), boxWidth: 12, ...labels } },
    tooltip: { callbacks: tooltip },
  },
});

module.exports = { axis, colour, options };
