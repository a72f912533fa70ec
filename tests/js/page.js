// Sorting and filtering of tables.
"use strict";
const assert = require("assert").strict;
const test = require("node:test");
const modules = require("./support/modules");

const { csv, markdown } = modules("page/copy");
const { hasWords } = modules("page/filter");
const { compare, nextOrder, numberOf } = modules("page/sort");
const { together } = modules("page/ticks");

test("cells are numbers with or without commas; others have none", () => {
  assert.deepEqual(["1,234.5", " -3 ", "", "n/a", "Infinity"].map(numberOf),
    [1234.5, -3, null, null, null]);
});

test("cells without a value come last both ways", () => {
  const sorted = (list, sign) => [...list].sort((a, b) => compare(a, b, sign));
  assert.deepEqual(sorted([2, null, 10], 1), [2, 10, null]);
  assert.deepEqual(sorted([2, null, 10], -1), [10, 2, null]);
  assert.deepEqual(sorted(["b", "a", null], 1), ["a", "b", null]);
});

test("numbers begin with the largest, words with the first of the alphabet", () => {
  assert.deepEqual([null, "descending", "ascending"].map((before) => nextOrder(before, true)),
    ["descending", "ascending", "descending"]);
  assert.equal(nextOrder(null, false), "ascending");
});

test("a filter wants every word, whatever the case", () => {
  assert.ok(hasWords("GEMM<8> prefill", " gemm<8 PRE "));
  assert.ok(hasWords("GEMM", ""));
  assert.ok(!hasWords("GEMM<8>", "gemm decode"));
});

test("a table is copied as CSV, without commas in numbers and formulas", () => {
  assert.equal(csv([["kernel", "total ms"], ["f<a, \"b\">", "1,234.5"], ["=1+1", "-3"]]),
    "kernel,total ms\n\"f<a, \"\"b\"\">\",1234.5\n'=1+1,-3\n");
});

test("a table is copied as Markdown, whatever its names", () => {
  assert.equal(markdown([["kernel", "ms"], ["a|b<c>", "1.5"]], [false, true]),
    "| kernel | ms |\n| --- | ---: |\n| a\\|b\\<c\\> | 1.5 |\n");
});

test("ticked findings say what they gain together where they were replayed", () => {
  const [a, b, c] = [["1", "5 ms"], ["3", "2 ms"], ["4", ""]]
    .map(([rank, gain]) => ({ rank, gain }));
  assert.equal(together([], {}, "r"), "");
  assert.equal(together([a], {}, "r"), "Replayed: 5 ms. llmprof whatif r 1");
  assert.equal(together([a, b], { "1 3": "6 ms" }, "r"), "Replayed: 6 ms. llmprof whatif r 1 3");
  assert.equal(together([a, b, c], { "1 3": "6 ms" }, "r"), "llmprof whatif r 1 3 4");
});
