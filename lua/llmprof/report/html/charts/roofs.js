// Where the roofs of the roofline are, and what part of the plane it shows. x is FLOP per
// byte, y TFLOP/s, rates of memory TB/s.
"use strict";

// Ceilings of the tensor cores, those of one height as one: { label, rate } each.
const ceilings = ({ tensor, tensors = [] }) => {
  if (tensors.length === 0) return tensor ? [{ label: "tensor", rate: tensor }] : [];
  const rates = [...new Set(tensors.map(({ rate }) => rate))];
  return rates.map((rate) => ({ rate, label: `tensor ${tensors
    .filter((other) => other.rate === rate).map(({ format }) => format).join(", ")}` }));
};

// Roofs of bandwidth rise until they meet the highest of those of the units, which begin
// where the fastest memory meets them: { label, border: a colour, data: two points } each.
const roofLines = (roofs, low, high) => {
  const list = [];
  const tensors = ceilings(roofs);
  const top = Math.max(...tensors.map(({ rate }) => rate), roofs.vector || 0);
  const fastest = Math.max(roofs.dram || 0, roofs.l2 || 0);
  for (const [key, name, border] of [["dram", "DRAM", "c4"], ["l2", "L2", "c5"]]) {
    const rate = roofs[key];
    if (!rate) continue;
    const end = top ? Math.min(high, top / rate) : high;
    list.push({ label: `${name} ${rate.toFixed(2)} TB/s`, border,
      data: [{ x: low, y: low * rate }, { x: end, y: end * rate }] });
  }
  const flat = (label, border, peak) => {
    const start = fastest ? Math.max(low, peak / fastest) : low;
    list.push({ label: `${label} ${peak.toFixed(1)} TFLOP/s`, border,
      data: [{ x: start, y: peak }, { x: Math.max(high, start), y: peak }] });
  };
  for (const { label, rate } of tensors) flat(label, "c0", rate);
  if (roofs.vector) flat("vector", "c1", roofs.vector);
  return list;
};

// { low, high, bottom, top }: powers of ten around all points, the ridge and the roofs.
const bounds = ({ kernels, stages, roofs }) => {
  const points = [...kernels, ...stages];
  const xs = points.flatMap(({ x, l2 }) => (l2 ? [x, l2] : [x]));
  const ys = points.map(({ y }) => y);
  const ridge = roofs.dram && roofs.tensor ? roofs.tensor / roofs.dram : 1;
  const decade = (value, round) => 10 ** round(Math.log10(value));
  return {
    low: decade(Math.min(...xs, ridge), Math.floor),
    high: decade(Math.max(...xs, ridge) * 1.01, Math.ceil),
    bottom: decade(Math.min(...ys), Math.floor),
    top: decade(2 * Math.max(...ys, ...ceilings(roofs).map(({ rate }) => rate),
      roofs.vector || 0), Math.ceil),
  };
};

module.exports = { bounds, roofLines };
