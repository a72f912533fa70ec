// A link to what is in view and selected: #t=594.3ms&sel=kernel:12. `t` is a time, of which the
// selected event is the nearest, or from-until what is in view; `sel` kernel:NUMBER, lane:NUMBER
// or span, which is measured.
"use strict";
const { around } = require("./scale");

const PAUSE = 300; // ms

const UNITS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

const write = (ns) => `${Number((ns / 1e6).toFixed(6))}ms`;

const read = (text) => {
  const found = /^(-?[\d.]+)(ns|us|ms|s)$/.exec(text);
  return found ? Math.round(Number(found[1]) * UNITS[found[2]]) : NaN;
};

// marked: { event, span }, seen: [from, until]
const format = ({ event, span }, seen) => {
  const [from, until] = span ? [span.from, span.until] : seen;
  if (!event) return `#t=${write(from)}-${write(until)}${span ? "&sel=span" : ""}`;
  const { lane, row } = event;
  const kernel = lane.kind === "gpu" ? lane.frame.kernel[row] : -1;
  return `#t=${write(lane.frame.start[row])}&sel=${kernel > 0 ? `kernel:${kernel}`
    : `lane:${lane.index}`}`;
};

// { from, until (NaN: a single time), kind, number }; null: it is no such link.
const parse = (hash) => {
  if (!hash.startsWith("#t=")) return null;
  const [time, sel = ""] = hash.slice(3).split("&sel=");
  const [from, until = NaN] = time.split(/(?<=s)-/).map(read);
  const [kind, number] = sel.split(":");
  return Number.isNaN(from) ? null : { from, until, kind, number: Number(number) };
};

// The event that a link selects; null without.
const eventOf = ({ lanes }, { from, kind, number }) => {
  let [found, apart] = [null, Infinity];
  for (const lane of lanes) {
    const isWanted = kind === "kernel" ? (row) => lane.frame.kernel[row] === number : () => true;
    if (kind === "kernel" ? lane.kind !== "gpu" : lane.index !== number) continue;
    lane.rows.forEach((row, place) => {
      const away = Math.abs(lane.frame.start[row] - from);
      if (away < apart && isWanted(row)) [found, apart] = [{ lane, row, place }, away];
    });
  }
  return found;
};

const create = ({ timeline, view, marked, select, span, show }) => {
  const open = () => {
    const link = parse(location.hash);
    if (!link) return;
    const event = link.kind === "span" ? null : eventOf(timeline, link);
    if (event) {
      select(event, true);
    } else if (Number.isNaN(link.until)) {
      view.lookAt(...around(link.from, 0, 1e6));
    } else {
      view.lookAt(link.from, link.until);
      if (link.kind === "span") span.show({ from: link.from, until: link.until });
    }
    show();
  };
  addEventListener("hashchange", open);
  open();
  // not each step of a drag: browsers refuse more than some hundred in half a minute
  let isWaiting = false;
  const now = () => {
    isWaiting = false;
    history.replaceState(null, "", format(marked, view.seen()));
  };
  const later = () => {
    if (!isWaiting) setTimeout(now, PAUSE);
    isWaiting = true;
  };
  return { write: later, now };
};

module.exports = { create, eventOf, format, parse };
