// The parts of the timeline that need no browser: lanes, what shares a pixel, search,
// launches, scale and words.
"use strict";
const assert = require("assert").strict;
const test = require("node:test");
const modules = require("./support/modules");

const align = modules("timeline/align");
const bins = modules("timeline/bins");
const { legendOf, namesOf } = modules("timeline/colours");
const { facts } = modules("timeline/facts");
const format = modules("timeline/format");
const { placeOf } = modules("timeline/hover");
const { BLOCK, arrange, eventAt, firstIn } = modules("timeline/lanes");
const { link } = modules("timeline/launches");
const measuring = modules("timeline/measure");
const permalink = modules("timeline/permalink");
const places = modules("timeline/places");
const laneRows = modules("timeline/rows");
const scale = modules("timeline/scale");
const search = modules("timeline/search");
const { factsOf } = modules("timeline/span");

// A frame of rows [lane, start, duration, label], with a column of its own for each of `more`.
const frame = (rows, more = {}) => ({ rows: rows.length,
  lane: rows.map((row) => row[0]), start: rows.map((row) => row[1]),
  duration: rows.map((row) => row[2]), label: rows.map((row) => row[3]), ...more });

// Two calls launch a GEMM and a copy; a step holds a layer and the first of them.
const made = () => arrange({
  lanes: [{ kind: "step", title: "steps" }, { kind: "layer", title: "layers" },
    { kind: "gpu", title: "stream 7" }, { kind: "api", title: "calls" },
    { kind: "sample", title: "SMs" }],
  labels: ["step 1", "layer 1", "GEMM <bf16>", "copy", "cudaLaunchKernel", "busy", "model.py:7"],
  categories: ["", "", "gemm", "copy", "", "", ""],
  stages: ["decode"],
  span: { first: 0, last: 1000 }, window: { first: 0, last: 500 },
  mark: frame([[0, 100, 200, 0], [1, 150, 100, 1]]),
  gpu: frame([[2, 400, 50, 3], [2, 200, 100, 2], [2, NaN, 1, 2]], { api_start: [310, 160, NaN],
    place: [-1, 0, 0], queue_time: [80, 0, 0], waiting: [20, 0, 0], kernel: [-1, 9, 9],
    line_label: [NaN, 6, 6] }),
  api: frame([[3, 160, 10, 4], [3, 310, 10, 4]]),
  sample: frame([[4, 0, 2, 5], [4, 2, 2, 5], [4, 100, 300, 5]], { percent: [10, 30, 50] }),
  busy: { lane: [2, 2, 2, 2], share: [255, 0, 51, 102] },
});

test("rows lie on their lanes by start; those without a start on none", () => {
  const [steps, , gpu] = made().lanes;
  assert.deepEqual([...gpu.rows], [1, 0]);
  assert.deepEqual([...gpu.until], [300, 450]);
  assert.equal(steps.index, 0);
  assert.equal(firstIn(gpu, 300), 1);
  assert.equal(firstIn(gpu, 450), 2);
});

test("what is at a time is the innermost, until its end", () => {
  const lane = { rows: [0, 1, 2], until: [100, 100, 100],
    frame: { start: [0, 10, 20], duration: [100, 30, NaN] } };
  assert.equal(eventAt(lane, 25).row, 1);
  assert.equal(eventAt(lane, 40).row, 0);
  assert.equal(eventAt(lane, 100), null);
  assert.equal(eventAt(lane, -1), null);
});

// What of a lane is drawn when a pixel is `perPixel` ns.
const drawn = (lane, perPixel, dimmed = null, gutter = 0) => {
  const list = [];
  const given = { to: (ns) => ns / perPixel, from: gutter * perPixel, until: 1000, gutter, width: 1000 };
  bins.events(lane, given, dimmed, {
    wide: (row, left, right) => list.push(["wide", row, left, right]),
    narrow: (pixel, covered, row) => list.push(["narrow", pixel, covered, row]),
  });
  return list;
};

test("events of less than a pixel share it, as much as they cover", () => {
  const lane = { rows: [0, 1, 2, 3], until: [2, 5, 17, 32],
    frame: { start: [0, 4, 15, 30], duration: [2, 1, 2, 20], label: [7, 8, 8, 9] } };
  assert.deepEqual(drawn(lane, 1), [["wide", 0, 0, 2], ["wide", 1, 4, 5], ["wide", 2, 15, 17],
    ["wide", 3, 30, 50]]);
  assert.deepEqual(drawn(lane, 8), [["narrow", 0, 0.375, 0], ["narrow", 1, 0.25, 2],
    ["wide", 3, 3.75, 6.25]]);
  assert.deepEqual(drawn(lane, 8, (row) => row === 1 || row === 2)[0], ["narrow", 0, 0.375, 0]);
  assert.deepEqual(drawn(lane, 8, (row) => row === 1 || row === 2)[1], ["narrow", 1, 0.25, 2]);
  assert.deepEqual(drawn(lane, 8, null, 3), [["wide", 3, 3.75, 6.25]]);
});

test("blocks of events share a pixel as one, but for a long one among them", () => {
  const rows = Array.from({ length: 4 * BLOCK }, (_, i) => [0, 2 * i, i === 40 ? 30 : 1, 0]);
  const empty = frame([]);
  const { lanes: [lane] } = arrange({ lanes: [{ kind: "gpu", title: "" }], gpu: frame(rows),
    mark: empty, api: empty, range: empty, sample: empty, busy: { lane: [], share: [] } });
  const covered = (...given) => drawn(...given).map(([kind, at, much]) => (kind === "narrow"
    ? [at, much] : kind));
  for (const perPixel of [16, 128]) {
    assert.deepEqual(covered(lane, perPixel), covered(lane, perPixel, () => false));
  }
  assert.equal(drawn(lane, 16).filter(([kind]) => kind === "wide").length, 1);
});

test("samples of less than a pixel are drawn as their mean", () => {
  const bars = [];
  bins.samples(made().lanes[4], { to: (ns) => ns / 10, from: 0, until: 1000, gutter: 0, width: 25 },
    (left, wide, percent) => bars.push([left, wide, percent]));
  assert.deepEqual(bars, [[0, 1, 20], [10, 15, 50]]);
});

test("shares are those of the time in which no event is known", () => {
  const timeline = made();
  assert.deepEqual(bins.shares(timeline.lanes[2], timeline),
    [{ start: 500, end: 750, share: 0.2 }, { start: 750, end: 1000, share: 0.4 }]);
});

test("a search finds labels with every word, and nothing to find is no search", () => {
  const { labels, lanes } = made();
  assert.deepEqual([...search.labelsWith(labels, " gemm BF16 ")], [2]);
  assert.deepEqual([...search.labelsWith(labels, "gemm copy")], []);
  assert.equal(search.labelsWith(labels, " "), null);
  assert.deepEqual(search.eventsOf(lanes, new Set([0, 2, 4])).map(({ lane, row, place }) =>
    [lane.kind, row, place]), [["step", 0, 0], ["api", 0, 0], ["gpu", 1, 0], ["api", 1, 1]]);
  assert.deepEqual(search.eventsOf(lanes, search.labelsWith(labels, "model.py")).map(({ lane, row }) =>
    [lane.kind, row]), [["gpu", 1]]);
});

test("what is found is flagged, row by row", () => {
  const { gpu, lanes } = made();
  const flags = search.flagsOf([{ lane: lanes[2], row: 1 }]);
  assert.deepEqual([...flags.get(gpu)], [0, 1, 0]);
  assert.equal(flags.get(lanes[3].frame), undefined);
  const both = [{ lane: lanes[2], row: 1 }, { lane: lanes[2], row: 0 }];
  assert.equal(search.firstOf(both, { first: 300, last: 500 }), 1);
  assert.equal(search.firstOf(both, { first: 900, last: 950 }), 0);
});

test("a row of a table has its place: by kernel, by what launched it, by stage or layer", () => {
  const timeline = made();
  timeline.gpu.kernel = [9, 9, 8];
  timeline.labels.push("Model.layers.3.mlp");
  timeline.gpu.module_label = [7, 7, NaN];
  const found = (place) => places.eventsOf(timeline, place).map(({ row, place: at }) => [row, at]);
  assert.deepEqual(found({ kernels: [9] }), [[1, 0], [0, 1]]);
  assert.deepEqual(found({ line: "model.py:7", stage: "none of these" }), [[1, 0]]);
  assert.deepEqual(found({ module: "Model.layers.*.mlp" }), [[1, 0], [0, 1]]);
  assert.deepEqual(found({ category: "copy" }), [[0, 1]]);
  assert.deepEqual(found({ layer: 1 }), [[1, 0]]);
  assert.deepEqual(found({ stage: "decode" }), []);
  const isHere = places.finder(timeline);
  assert.deepEqual([{ from: 1, until: 2 }, { kernels: [7, 9] }, { label: "copy" }, { layer: 1 }]
    .map(isHere), [true, true, true, true]);
  assert.deepEqual([{ kernels: [7] }, { label: "mul" }, { layer: 2 }, { stage: "decode" },
    { operator: "mm" }].map(isHere), [false, false, false, false, false]);
});

test("a link leads to the event that is nearest, to a span or to what was in view", () => {
  const timeline = made();
  const [, , gpu, api] = timeline.lanes;
  const there = (marked) => permalink.format({ event: null, span: null, ...marked }, [1e6, 2.5e6]);
  assert.equal(there({}), "#t=1ms-2.5ms");
  assert.equal(there({ span: { from: 100, until: 594300000 } }), "#t=0.0001ms-594.3ms&sel=span");
  assert.equal(there({ event: { lane: gpu, row: 1 } }), "#t=0.0002ms&sel=kernel:9");
  assert.equal(there({ event: { lane: api, row: 1 } }), "#t=0.00031ms&sel=lane:3");
  const read = (hash) => permalink.parse(hash);
  assert.deepEqual(read("#t=594.3ms&sel=kernel:12"),
    { from: 594300000, until: NaN, kind: "kernel", number: 12 });
  assert.deepEqual(read("#t=1us-2s&sel=span").until, 2e9);
  assert.deepEqual([read("#kernels"), read("#t=soon")], [null, null]);
  assert.equal(permalink.eventOf(timeline, read("#t=205ns&sel=kernel:9")).row, 1);
  assert.equal(permalink.eventOf(timeline, read("#t=305ns&sel=lane:3")).row, 1);
  assert.equal(permalink.eventOf(timeline, read("#t=305ns&sel=kernel:7")), null);
});

test("a call leads to what it launched, and back", () => {
  const timeline = made();
  const links = link(timeline);
  const [, , gpu, api] = timeline.lanes;
  assert.deepEqual(links.of(1), [0]);
  assert.equal(links.of(7), undefined);
  assert.equal(links.counterpart({ lane: gpu, row: 0 }).row, 1);
  assert.equal(links.counterpart({ lane: api, row: 0 }), null);
  assert.deepEqual([{ lane: api, row: 0 }, { lane: gpu, row: 1 }].map((event) => links.flows(event)
    .map((flow) => flow.map(({ lane, row }) => [lane.kind, row]))),
  [[[["api", 0], ["gpu", 1]]], [[["api", 0], ["gpu", 1]]]]);
  assert.deepEqual(links.flows({ lane: timeline.lanes[0], row: 0 }), []);
  timeline.gpu.match = [5, 5, 6];
  assert.deepEqual(link(timeline).flows({ lane: gpu, row: 1 }).map((flow) => flow.map(({ row }) => row)),
    [[0, 1], [0, 1]]);
  assert.equal(links.counterpart({ lane: gpu, row: 2 }), null);
  assert.equal(links.counterpart({ lane: timeline.lanes[0], row: 0 }), null);
});

test("what is known of an event", () => {
  const timeline = made();
  const of = (lane, row, counters = "") => facts(timeline, link(timeline),
    { lane: timeline.lanes[lane], row }, () => counters);
  assert.deepEqual(of(2, 1, "SM % 12"), [["took", "100 ns"], ["at", "200 ns"], ["stage", "decode"],
    ["step", "1"], ["layer", "1"], ["line", "model.py:7"], ["category", "gemm"],
    ["launched by", "cudaLaunchKernel (calls)"], ["counters", "SM % 12"], ["on", "stream 7"]]);
  assert.deepEqual(of(2, 0).slice(2), [["category", "copy"],
    ["launched by", "cudaLaunchKernel (calls)"], ["delay", "80 ns after the call"],
    ["waited", "20 ns for other ranks, then transfer 30 ns"], ["on", "stream 7"]]);
  assert.deepEqual(of(3, 1).slice(2, 3), [["launched", "1 operation: copy"]]);
  assert.ok(of(4, 2).some(([name, text]) => name === "sampled" && text === "50 %"));
});

test("what several GPUs were busy is a mean", () => {
  const timeline = made();
  const lane = (title) => ({ ...timeline.lanes.find(({ kind }) => kind === "gpu"), title });
  const two = { ...timeline, lanes: [lane("GPU 0, stream 7"), lane("GPU 1, stream 7"),
    lane("GPU 1, stream 8")] };
  const { gpus, busy, others, kernels } = measuring.measure(two, { from: 250, until: 430 });
  assert.deepEqual({ gpus, busy, others, kernels }, { gpus: 2, busy: 80, others: 3, kernels: 3 });
  assert.equal(factsOf({ time: 180, gpus, busy, kernels, isWhole: true })[2][0],
    "GPU busy, mean of 2");
});

test("a span has the kernels in it, cut to it, and what of it the GPU was busy", () => {
  const timeline = made();
  assert.deepEqual(measuring.measure(timeline, { from: 250, until: 430 }), { time: 180, gpus: 1,
    kernels: 1, others: 1, busy: 80, idle: 100, isWhole: true,
    categories: [{ name: "gemm", count: 1, ns: 50 }, { name: "copy", count: 1, ns: 30 }] });
  timeline.lanes.push({ ...timeline.lanes[2], rank: 0 });
  assert.equal(measuring.measure(timeline, { from: 250, until: 430 }).kernels, 1);
  assert.deepEqual(measuring.measure(timeline, { from: 300, until: 400 }).categories, []);
  assert.ok(!measuring.measure(timeline, { from: 400, until: 600 }).isWhole);
  const [cut, whole] = [false, true].map((isWhole) => factsOf({ time: 200, kernels: 3, others: 0,
    busy: 50, idle: 150, isWhole }));
  assert.deepEqual(whole.slice(2), [["GPU busy", "50 ns (25.0 %)"], ["idle", "150 ns (75.0 %)"]]);
  assert.deepEqual(cut.slice(2), [["GPU busy",
    "at least 50 ns: not all events of this span are here"]]);
  assert.equal(measuring.covered([[10, 20], [0, 5], [15, 18], [19, 30]]), 25);
  assert.equal(format.percent(1, 8), "12.5 %");
});

test("times, marks and names are written with what fits them", () => {
  assert.deepEqual([0, 999, -1500, 2.5e6, 3e9].map((ns) => format.duration(ns)),
    ["0 ns", "999 ns", "-1.50 µs", "2.50 ms", "3.00 s"]);
  assert.equal(format.duration(2.5e6, 6), "2.500000 ms");
  assert.equal(format.tick(1.5e6, 5e5), "1,500 µs");
  assert.equal(format.tick(1.5e6, 2e6), "1.5 ms");
  assert.equal(format.cut("decode", 6), "decode");
  assert.deepEqual(["rank 0, GPU 1, stream 17", "CUDA calls, thread 7", "GPU 0, memory read %"]
    .map(format.shortLane), ["r0 GPU1 s17", "CUDA 7", "G0 read %"]);
  assert.equal(format.cut("decode", 5), "deco…");
  assert.equal(format.extent({ window: { first: 0, last: 5e3 }, span: { first: 0, last: 5e3 } }),
  "Every event of the run is here.");
  assert.equal(format.extent({ window: { first: 0, last: 5e3, least: 70 },
    span: { first: 0, last: 9e3 }, samples_until: 4e3, hidden: 2 }), "Every event from 0 ns to "
    + "5.00 µs is here; of the rest, 0 ns to 9.00 µs, those that take 70 ns or more. Grey bars show "
    + "how busy a lane was. "
    + "Samples of the hardware are here until 4.00 µs. 2 more lanes are not drawn.");
});

test("a zoom puts the range that is asked for between the gutter and the edge", () => {
  const view = { first: 1000, last: 9000, gutter: 100, width: 500 };
  const { k, x } = scale.zoomTo(view, 3000, 5000);
  const pixel = (ns) => x + k * (100 + ((ns - 1000) / 8000) * 400);
  assert.deepEqual([pixel(3000), pixel(5000)], [100, 500]);
  assert.equal(scale.zoomTo(view, 3000, 3000).k, 8000);
  assert.deepEqual(scale.zoomTo(view, 1000, 9000), { k: 1, x: 0 });
  assert.deepEqual(scale.around(1000, 100, 1e6), [-950, 3050]);
  assert.deepEqual(scale.around(1000, 100, 10), [50, 2050]);
  assert.deepEqual(scale.reach({ span: { first: 5, last: 5 }, window: { first: 5, last: 5 } }),
    { first: 5, last: 6 });
});

test("lanes lie below one another; pinned ones stay, collapsed ones are thin", () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => ({ name }));
  const lanes = laneRows.create([a, b, c]);
  const tops = (scrolled) => {
    const { height, fixed } = laneRows.place(lanes, scrolled);
    return [...lanes.order.map(({ name, top }) => `${name}${top}`), height, fixed];
  };
  assert.deepEqual(tops(5), ["a22", "b40", "c58", 78, 22]);
  laneRows.toggle(lanes.pinned, [c], true);
  laneRows.toggle(lanes.collapsed, [a], true);
  assert.deepEqual(tops(5), ["a40", "b46", "c27", 66, 40]);
  assert.equal(laneRows.laneAt(lanes, 41), c);
  assert.equal(laneRows.laneAt(lanes, 46), b);
  assert.equal(laneRows.laneAt(lanes, 3), undefined);
  laneRows.move(lanes, b, -1);
  assert.deepEqual(lanes.order, [b, a, c]);
  laneRows.move(lanes, a, 1);
  laneRows.move(lanes, c, -1);
  assert.deepEqual(lanes.order, [b, a, c]);
  laneRows.move(lanes, b, 1);
  assert.deepEqual(lanes.order, [a, b, c]);
});

test("two timelines are aligned by the steps that both have", () => {
  const of = (starts, first = 0) => arrange({ lanes: [{ kind: "step", title: "steps" }],
    labels: starts.map((_, i) => `decode, step ${i + 1}`), view: { first, last: 1e9 },
    mark: frame(starts.map((start, i) => [0, start, 1, i])), gpu: frame([]), api: frame([]),
    range: frame([]), sample: frame([]), busy: { lane: [], share: [] } });
  const pairs = align.pairsOf(of([100, 200, 300]), of([1000, 1400, 1500, 1600]));
  assert.deepEqual(pairs, [[100, 1000], [200, 1400], [300, 1500]]);
  const there = align.mapOf(pairs);
  assert.deepEqual([50, 100, 150, 250, 400].map(there), [950, 1000, 1200, 1450, 1600]);
  assert.deepEqual([950, 1200, 1600].map(align.mapOf(pairs, 1)), [50, 150, 400]);
  assert.deepEqual(align.pairsOf(of([], 7), of([5], 9)), [[7, 9]]);
  assert.deepEqual(align.reachesOf([{ first: 0, last: 400 }, { first: 950, last: 2000 }], pairs[0]),
    [{ first: 0, last: 1100 }, { first: 900, last: 2000 }]);
});

test("an operation has the colour of its category, stages differ from their neighbours", () => {
  const table = { gemm: "c0", copy: "c10" };
  const names = namesOf({ labels: ["nvjet", "decode", "prefill", "cudaStreamSynchronize"],
    categories: ["gemm", "", "", ""],
    lanes: [{ kind: "stage", rows: [0, 1, 2], frame: { label: [2, 1, 2] } }] }, table);
  assert.deepEqual(names.gpu, ["c0", "other", "other", "other"]);
  assert.deepEqual(names.stage.slice(1, 3), ["s1", "s0"]);
  assert.deepEqual(names.api, ["other", "other", "other", "wait"]);
  assert.deepEqual(legendOf(made(), table).map(({ name, colour, ns }) => [name, colour, ns]),
    [["gemm", "c0", 101], ["copy", "c10", 50], ["waits for other ranks", "late", undefined]]);
});

test("what stands beside the pointer stays in the window", () => {
  const [box, room] = [{ width: 100, height: 50 }, { width: 400, height: 300 }];
  assert.deepEqual(placeOf({ x: 10, y: 10 }, box, room), { left: 24, top: 24 });
  assert.deepEqual(placeOf({ x: 390, y: 290 }, box, room), { left: 276, top: 246 });
});
