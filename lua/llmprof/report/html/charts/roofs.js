// Where the roofs of the roofline are, and what part of the plane it shows. x is FLOP per
// byte, y TFLOP/s, rates of memory TB/s.
"use strict";

// Roofs of bandwidth rise until they meet the highest of those of the units, which begin
// where the fastest memory meets them: { label, border: a colour, data: two points } each.
const roofLines = (roofs, low, high) => {
  const list = [];
  const top = Math.max(roofs.tensor || 0, roofs.vector || 0);
  const fastest = Math.max(roofs.dram || 0, roofs.l2 || 0);
  for (const [key, name, border] of [["dram", "DRAM", "c4"], ["l2", "L2", "c5"]]) {
    const rate = roofs[key];
    if (!rate) continue;
    const end = top ? Math.min(high, top / rate) : high;
    list.push({ label: `${name} ${rate.toFixed(2)} TB/s`, border,
      data: [{ x: low, y: low * rate }, { x: end, y: end * rate }] });
  }
  for (const [key, border] of [["tensor", "c0"], ["vector", "c1"]]) {
    const peak = roofs[key];
    if (!peak) continue;
    const start = fastest ? Math.max(low, peak / fastest) : low;
    list.push({ label: `${key} ${peak.toFixed(1)} TFLOP/s`, border,
      data: [{ x: start, y: peak }, { x: Math.max(high, start), y: peak }] });
  }
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
    top: decade(2 * Math.max(...ys, roofs.tensor || 0, roofs.vector || 0), Math.ceil),
  };
};

module.exports = { bounds, roofLines };
