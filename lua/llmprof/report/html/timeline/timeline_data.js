// What the timeline shows, from the bytes that the page carries: what
// llmprof.analysis.timeline.events writes, gzipped, in base64.
"use strict";
/* global DecompressionStream */
const { frameOf } = require("./frame");

const VERSION = 2;

const unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

// A line of JSON, then its frames one after the other; each is put in by its name.
const parse = (bytes) => {
  const end = bytes.indexOf(10);
  const timeline = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
  if (timeline.version !== VERSION) {
    throw new Error("another llmprof analysed this run; llmprof --resume RUN does it again");
  }
  let at = end + 1;
  for (const { name, bytes: size } of timeline.frames) {
    timeline[name] = frameOf(bytes.subarray(at, at + size));
    at += size;
  }
  return timeline;
};

module.exports = { unpack, parse };
