// The charts, by Chart.js, from the page's data.
"use strict";
/* global Chart */
const { categories } = require("./categories");
const { roofline } = require("./roofline");
const { tpot } = require("./tpot");

const data = JSON.parse(document.getElementById("data").textContent);
const made = [];

// Once more where the colours change.
const draw = () => {
  for (const chart of made.splice(0)) chart.destroy();
  for (const [name, make] of Object.entries({ categories, roofline, tpot })) {
    const canvas = document.querySelector(`#chart-${name} canvas`);
    if (canvas && data[name]) made.push(new Chart(canvas, make(data[name], data.colours)));
  }
};

Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
draw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
matchMedia("print").addEventListener("change", draw);
