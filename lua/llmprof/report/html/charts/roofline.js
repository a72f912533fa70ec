// The roofline: kernels and stages under the roofs of the GPU.
"use strict";
const { bySize, names, shorten } = require("./names");
const { bounds, roofLines } = require("./roofs");
const { axis, colour, options } = require("./style");

const lines = (roofs, low, high) => roofLines(roofs, low, high)
  .map(({ label, border, data }) => ({
    type: "line", label, data, borderColor: colour(border), borderWidth: 2,
    pointRadius: 0, pointHitRadius: 0, pointStyle: "line", backgroundColor: colour(border),
  }));

const dots = (label, points, fill, style, radius) => ({
  label, data: points, backgroundColor: colour(fill), borderColor: colour("paper"),
  borderWidth: 1, pointStyle: points.map(style), pointRadius: points.map(radius),
  pointHoverRadius: points.map((point) => radius(point) + 2),
});

// Kernels that are mostly of vector units are triangles.
const styleOf = ({ unit }) => (unit === "tensor" ? "circle" : "triangle");

// Kernels by category, in the order of their first ones.
const byCategory = (kernels) => {
  const groups = new Map();
  for (const point of kernels) {
    const name = point.category || "other";
    if (groups.has(name)) groups.get(name).push(point); else groups.set(name, [point]);
  }
  return [...groups];
};

// The same kernels by what they moved through L2: rings, as they are not more work.
const rings = (kernels) => ({
  label: "the same kernels, by bytes of L2",
  data: kernels.filter((point) => point.l2)
    .map((point) => ({ ...point, x: point.l2, memory: "L2" })),
  backgroundColor: "transparent", borderColor: colour("c5"), borderWidth: 1,
  pointStyle: "circle", pointRadius: 4, pointHoverRadius: 6,
});

const label = ({ raw, dataset }) => {
  if (!raw.name) return dataset.label;
  const where = raw.part ? `${raw.stage}/${raw.part}` : raw.stage;
  const said = [shorten(raw.name, 90, 60, 28),
    `${where}: ${raw.x.toPrecision(3)} FLOP/B of ${raw.memory || "DRAM"}, ${raw.y.toPrecision(3)} TFLOP/s`];
  if (raw.unit) said.push(raw.unit === "tensor" ? "mostly tensor cores" : "mostly vector units");
  if (raw.share !== undefined) said.push(`${(100 * raw.share).toFixed(1)} % of the GPU time`);
  return said;
};

const power = (value) => (value >= 0.001 && value <= 10000 ? `${Number(value.toPrecision(6))}`
  : `1e${Math.round(Math.log10(value))}`);

// A mark per power of ten, between two of them.
const logarithmic = (title, low, high) => ({
  type: "logarithmic", min: low, max: high, ...axis(title),
  ticks: { color: colour("soft"), callback: power, maxRotation: 0 },
  afterBuildTicks: (scale) => {
    scale.ticks = [];
    for (let value = low; value < high * 1.5; value *= 10) scale.ticks.push({ value });
  },
});

// colours: by category the name of its own.
const roofline = ({ kernels, stages, roofs }, colours) => {
  const { low, high, bottom, top } = bounds({ kernels, stages, roofs });
  const narrow = window.innerWidth < 700;
  return {
    type: "scatter",
    plugins: [names],
    data: { datasets: [
      ...byCategory(kernels).map(([name, points]) =>
        dots(name, points, colours[name] || "other", styleOf, bySize)),
      rings(kernels),
      dots("stages, the model's work", stages, "ink", () => "rectRot", () => 7),
      ...lines(roofs, low, high),
    ].filter((set) => set.data.length > 0) },
    options: options({
      x: logarithmic("FLOP per byte of DRAM, or of L2", low, high),
      y: logarithmic(`TFLOP/s${narrow ? "" : " (circles: tensor cores, triangles: vector units)"}`,
        bottom, top),
    }, { label }, true, { usePointStyle: true }),
  };
};

module.exports = { byCategory, label, roofline };
