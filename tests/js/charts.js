// The charts, but for what draws them.
"use strict";
const assert = require("assert").strict;
const test = require("node:test");
const modules = require("./support/modules");

const names = modules("charts/names");
const { byCategory, label } = modules("charts/roofline");
const { bounds, roofLines } = modules("charts/roofs");

const ROOFS = { tensor: 1000, vector: 60, dram: 5, l2: 10 };

test("roofs of bandwidth rise to the highest unit; units begin at the fastest memory", () => {
  const lines = roofLines(ROOFS, 1, 1000);
  assert.deepEqual(lines.map((line) => line.data.map(({ x, y }) => [x, y])), [
    [[1, 5], [200, 1000]], [[1, 10], [100, 1000]], [[100, 1000], [1000, 1000]],
    [[6, 60], [1000, 60]]]);
  assert.equal(lines[0].label, "DRAM 5.00 TB/s");
  assert.deepEqual(roofLines({}, 1, 10), []);
  assert.deepEqual(roofLines({ dram: 1, tensors: [{ format: "fp8", rate: 20 },
    { format: "bf16", rate: 10 }, { format: "fp16", rate: 10 }] }, 1, 100)
    .map((line) => line.label), ["DRAM 1.00 TB/s", "tensor fp8 20.0 TFLOP/s",
    "tensor bf16, fp16 10.0 TFLOP/s"]);
});

test("the plane is powers of ten around points, ridge and roofs", () => {
  assert.deepEqual(bounds({ kernels: [{ x: 30, l2: 0.5, y: 0.02 }], stages: [{ x: 2, y: 1 }],
    roofs: ROOFS }), { low: 0.1, high: 1000, bottom: 0.01, top: 10000 });
});

test("names keep clear of one another and of the edge", () => {
  const at = (name, x, y) => ({ point: { name, share: 0 }, at: { x, y } });
  const said = names.layout([at("first", 10, 50), at("below", 10, 55), at("far", 10, 80),
    at("edge", 95, 20)], { left: 0, right: 100 }, () => 40);
  assert.deepEqual(said.map(({ text, x }) => [text, x]), [["first", 17], ["far", 17], ["edge", 48]]);
  const dots = [at("named", 10, 50), at("in the way", 24, 50)];
  const boxes = [{ of: dots[1].point, x: 21, y: 50, wide: 6 }, { x: 60, y: 80, wide: 30 }];
  assert.deepEqual(names.layout(dots.slice(0, 1), { left: 0, right: 100 }, () => 30, boxes)
    .map(({ x, y }) => [x, y]), []);
  assert.equal(names.shorten("x".repeat(31)), `${"x".repeat(20)}…${"x".repeat(8)}`);
});

test("a dot says what it is, of which memory", () => {
  assert.deepEqual(label({ raw: { name: "gemm", stage: "decode", part: "head", x: 1.2345, y: 3,
    unit: "tensor", share: 0.125 } }), ["gemm",
    "decode/head: 1.23 FLOP/B of DRAM, 3.00 TFLOP/s", "mostly tensor cores",
    "12.5 % of the GPU time"]);
  assert.deepEqual(byCategory([{ x: 1, category: "gemm" }, { x: 2 }, { x: 3, category: "gemm" }])
    .map(([name, points]) => [name, points.map(({ x }) => x)]), [["gemm", [1, 3]], ["other", [2]]]);
  assert.equal(label({ raw: {}, dataset: { label: "DRAM 5.00 TB/s" } }), "DRAM 5.00 TB/s");
});
