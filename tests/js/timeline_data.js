// What llmprof packs is what the page unpacks. usage: timeline_data.js LLMPROF
"use strict";
const assert = require("assert").strict;
const { execFileSync } = require("child_process");
const test = require("node:test");
const modules = require("./support/modules");

const { parse, unpack } = modules("timeline/timeline_data");
const script = "tests/js/support/timeline_data.lua";
const packed = execFileSync(process.argv[2], ["exec", script], { encoding: "utf-8" });

test("numbers come through at the limits of 64 bits, and where there is none", async () => {
  const timeline = parse(await unpack(packed));
  const large = 2 ** 63; // the nearest that JavaScript has
  assert.deepEqual([...timeline.mark.start],
    [0, -1, 63, -64, 2 ** 20, NaN, 7, large, -large, large, NaN, -large]);
  assert.deepEqual(timeline.busy, { rows: 0, start: new Float64Array(0) });
  assert.equal(timeline.span.last, 1);
});

test("data of another version is refused", async () => {
  const text = new TextDecoder("latin1").decode(await unpack(packed)).replace('"version":2', '"version":1');
  assert.throws(() => parse(Uint8Array.from(text, (letter) => letter.charCodeAt(0))), /another llmprof/);
});

test("bytes that end too early are complained of", async () => {
  const bytes = await unpack(packed);
  const end = bytes.indexOf(10) + 1;
  assert.throws(() => parse(bytes.subarray(0, end + 40)), /cut short/);
});
