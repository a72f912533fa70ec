// The charts, by Chart.js, from the page's data. Colours are those of the style
// sheet: light, dark, or paper.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
  const PALETTE = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
  const ms = (value) => `${Number(value.toPrecision(4))} ms`;

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

  // ---- each stage by category ----

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

  // ---- roofline ----

  // Roofs of bandwidth rise until they meet the highest of those of the units, which
  // begin where the fastest memory meets them.
  const lines = (roofs, low, high) => {
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
    return list.map(({ label, border, data: points }) => ({
      type: "line", label, data: points, borderColor: colour(border), borderWidth: 2,
      pointRadius: 0, pointHitRadius: 0, pointStyle: "line", backgroundColor: colour(border),
    }));
  };

  const dots = (label, points, fill, style, radius) => ({
    label, data: points, backgroundColor: colour(fill), borderColor: colour("paper"),
    borderWidth: 1, pointStyle: style, pointRadius: points.map(radius),
    pointHoverRadius: points.map((point) => radius(point) + 2),
  });

  // The same kernels by what they moved through L2: rings, as they are not more work.
  const rings = (kernels) => ({
    label: "the same kernels, by bytes of L2",
    data: kernels.filter((point) => point.l2)
      .map((point) => ({ ...point, x: point.l2, memory: "L2" })),
    backgroundColor: "transparent", borderColor: colour("c5"), borderWidth: 1,
    pointStyle: "circle", pointRadius: 4, pointHoverRadius: 6,
  });

  // The area of a dot is its kernel's share of the GPU time.
  const bySize = (point) => 4 + 26 * Math.sqrt(point.share || 0);

  const rooflineLabel = ({ raw, dataset }) => {
    if (!raw.name) return dataset.label;
    const where = raw.part ? `${raw.stage}/${raw.part}` : raw.stage;
    const said = [raw.name.length > 90 ? `${raw.name.slice(0, 60)}…${raw.name.slice(-28)}` : raw.name,
      `${where}: ${raw.x.toPrecision(3)} FLOP/B of ${raw.memory || "DRAM"}, ${raw.y.toPrecision(3)} TFLOP/s`];
    if (raw.share !== undefined) said.push(`${(100 * raw.share).toFixed(1)} % of the GPU time`);
    return said;
  };

  // Names beside the dots of the kernels with the largest shares, where there is room.
  const NAMED = 8;
  const names = {
    id: "names",
    afterDatasetsDraw: (chart) => {
      const dots = chart.data.datasets.flatMap((set, index) => set.data
        .map((point, i) => ({ point, at: chart.getDatasetMeta(index).data[i] }))
        .filter(({ point }) => point.share && point.memory !== "L2"));
      dots.sort((a, b) => b.point.share - a.point.share);
      const pen = chart.ctx;
      const { left, right } = chart.chartArea;
      const taken = [];
      pen.save();
      pen.font = "11px system-ui, sans-serif";
      pen.fillStyle = colour("ink");
      for (const { point, at } of dots.slice(0, NAMED)) {
        const text = point.name.length > 30 ? `${point.name.slice(0, 20)}…${point.name.slice(-8)}`
          : point.name;
        const wide = pen.measureText(text).width;
        const far = bySize(point) + 3;
        const x = at.x + far + wide < right ? at.x + far : Math.max(left, at.x - far - wide);
        const box = { x, y: at.y, wide };
        const isFree = taken.every((other) => Math.abs(other.y - box.y) > 12
          || other.x > box.x + box.wide || box.x > other.x + other.wide);
        if (!isFree) continue;
        taken.push(box);
        pen.fillText(text, x, at.y + 4);
      }
      pen.restore();
    },
  };

  // A mark per power of ten, between two of them.
  const logarithmic = (title, low, high) => ({
    type: "logarithmic", min: low, max: high, ...axis(title),
    ticks: { color: colour("soft"), callback: (value) => `${Number(value.toPrecision(6))}` },
    afterBuildTicks: (scale) => {
      scale.ticks = [];
      for (let value = low; value < high * 1.5; value *= 10) scale.ticks.push({ value });
    },
  });

  const roofline = ({ kernels, stages, roofs }) => {
    const xs = [...kernels, ...stages].flatMap(({ x, l2 }) => (l2 ? [x, l2] : [x]));
    const ridge = roofs.dram && roofs.tensor ? roofs.tensor / roofs.dram : 1;
    const decade = (value, round) => 10 ** round(Math.log10(value));
    const low = decade(Math.min(...xs, ridge), Math.floor);
    const high = decade(Math.max(...xs, ridge) * 1.01, Math.ceil);
    const ys = [...kernels, ...stages].map((point) => point.y);
    const bottom = decade(Math.min(...ys), Math.floor);
    const top = decade(2 * Math.max(...ys, roofs.tensor || 0, roofs.vector || 0), Math.ceil);
    const of = (unit) => kernels.filter((point) => (point.unit === "tensor") === (unit === "tensor"));
    return {
      type: "scatter",
      plugins: [names],
      data: { datasets: [
        dots("kernels, mostly tensor cores", of("tensor"), "c0", "circle", bySize),
        dots("kernels, mostly vector units", of("vector"), "c1", "circle", bySize),
        rings(kernels),
        dots("stages, the model's work", stages, "ink", "rectRot", () => 7),
        ...lines(roofs, low, high),
      ].filter((set) => set.data.length > 0) },
      options: options({
        x: logarithmic("FLOP per byte of DRAM, or of L2", low, high),
        y: logarithmic("TFLOP/s", bottom, top),
      }, { label: rooflineLabel }, true, { usePointStyle: true }),
    };
  };

  // ---- TPOT ----

  const tpot = ({ counts, edges }) => ({
    type: "bar",
    data: {
      labels: counts.map((_, i) => `${edges[i].toFixed(2)} to ${edges[i + 1].toFixed(2)}`),
      datasets: [{ label: "tokens", data: counts, backgroundColor: colour("c0"),
        categoryPercentage: 1, barPercentage: 0.96 }],
    },
    options: options({
      x: axis("ms per output token", { ticks: { maxRotation: 0,
        callback: (_, i) => `${edges[i].toFixed(1)}–${edges[i + 1].toFixed(1)}` } }),
      y: axis("tokens", { axis: { beginAtZero: true }, ticks: { precision: 0 } }),
    }, { title: ([item]) => `${item.label} ms` }, false),
  });

  // ---- drawing ----

  const made = [];
  const draw = () => {
    for (const chart of made.splice(0)) chart.destroy();
    for (const [name, make] of Object.entries({ categories, roofline, tpot })) {
      const canvas = document.querySelector(`#chart-${name} canvas`);
      if (canvas && data[name]) made.push(new Chart(canvas, make(data[name])));
    }
  };

  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  matchMedia("print").addEventListener("change", draw);
})();
