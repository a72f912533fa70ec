// Columns of numbers as llmprof.analysis.timeline.events packs them: a frame in the form of
// core/frame, coded as differences from row to row.
"use strict";

const MAGIC = "llmprof frame 1\n".length;
const ABSENT = -(2n ** 63n);

// The number whose groups of seven bits begin at `start`, and where it ends: as a bigint.
const longAt = (bytes, start) => {
  let value = 0n;
  let shift = 0n;
  for (let at = start; ; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) throw new Error("cut short");
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return { value, end: at + 1 };
    shift += 7n;
  }
};

// Reads on from a place. Numbers are little-endian groups of seven bits; a bigint where a
// number would not hold it.
const reader = (bytes, from) => {
  let at = from;
  const number = () => {
    const start = at;
    let value = 0;
    let unit = 1;
    for (let size = 0; size < 7; size += 1) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("cut short");
      value += (byte & 127) * unit;
      if (byte < 128) return value;
      unit *= 128;
    }
    const long = longAt(bytes, start);
    at = long.end;
    return long.value;
  };
  const text = () => {
    const size = Number(number());
    at += size;
    return new TextDecoder().decode(bytes.subarray(at - size, at));
  };
  return { number, text };
};

// Differences from row to row, zigzag, modulo 2^64; NaN where there is no value.
const cells = (read, rows) => {
  const values = new Float64Array(rows);
  let before = 0;
  for (let row = 0; row < rows; row += 1) {
    const coded = read.number();
    if (typeof coded === "number" && typeof before === "number") {
      before += coded % 2 ? -(coded + 1) / 2 : coded / 2;
    } else {
      const big = BigInt(coded);
      const exact = BigInt.asIntN(64, BigInt(before) + ((big >> 1n) ^ -(big & 1n)));
      before = exact > -(2n ** 52n) && exact < 2n ** 52n ? Number(exact) : exact;
    }
    values[row] = before === ABSENT ? NaN : Number(before);
  }
  return values;
};

// { rows, and a Float64Array for each column by its name }
const frameOf = (bytes) => {
  const read = reader(bytes, MAGIC);
  const frame = { rows: Number(read.number()) };
  const columns = Number(read.number());
  for (let column = 0; column < columns; column += 1) {
    const isText = read.number() === 1;
    const name = read.text();
    read.text();
    if (isText) throw new Error(`'${name}' holds texts`);
    frame[name] = cells(read, frame.rows);
  }
  return frame;
};

module.exports = { frameOf };
