// The timeline: events of llmprof.analysis.events on a canvas, with D3's zoom and scale.
"use strict";
(() => {
  const figure = document.getElementById("events");
  const packed = document.getElementById("events-data");
  if (!figure || !packed || !window.d3) return;
  const find = (selector) => figure.querySelector(selector);
  const canvas = find("canvas");
  const status = find(".status");
  const detail = find(".detail");

  // ---- reading ----

  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  const MAGIC = "llmprof frame 1\n".length;
  const ABSENT = -(2n ** 63n);

  // Little-endian groups of seven bits; a bigint where a number would not hold it.
  const reader = (bytes, from) => {
    let at = from;
    const long = (start) => {
      let value = 0n;
      let shift = 0n;
      at = start;
      for (;;) {
        const byte = bytes[at++];
        if (byte === undefined) throw new Error("cut short");
        value |= BigInt(byte & 127) << shift;
        if (byte < 128) return value;
        shift += 7n;
      }
    };
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
      return long(start);
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

  const parse = (bytes) => {
    const end = bytes.indexOf(10);
    const scene = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
    let at = end + 1;
    for (const { name, bytes: size } of scene.frames) {
      scene[name] = frameOf(bytes.subarray(at, at + size));
      at += size;
    }
    return scene;
  };

  // ---- what is on the lanes ----

  const KINDS = { stage: "mark", step: "mark", layer: "mark", gpu: "gpu", api: "api",
    range: "range", sample: "sample" };

  // Rows of each lane by start, with the latest end so far, to find what is in view.
  const arrange = (scene) => {
    const rows = scene.lanes.map(() => []);
    for (const name of ["mark", "gpu", "api", "range", "sample"]) {
      const frame = scene[name] || { rows: 0 };
      for (let row = 0; row < frame.rows; row += 1) {
        const lane = rows[frame.lane[row]];
        if (lane && frame.start[row] === frame.start[row]) lane.push(row);
      }
    }
    scene.lanes.forEach((lane, index) => {
      const frame = scene[KINDS[lane.kind]];
      const sorted = rows[index].sort((a, b) => frame.start[a] - frame.start[b]);
      let latest = -Infinity;
      lane.index = index;
      lane.frame = frame;
      lane.rows = Uint32Array.from(sorted);
      lane.until = Float64Array.from(sorted, (row) => {
        latest = Math.max(latest, frame.start[row] + length(frame, row));
        return latest;
      });
      lane.shares = [];
    });
    const { lane, share } = scene.busy;
    lane.forEach((number, row) => scene.lanes[number] && scene.lanes[number].shares
      .push(share[row]));
  };

  const length = (frame, row) => {
    const value = frame.duration[row];
    return value > 0 ? value : 0;
  };

  // The first place whose value is not below.
  const lowerBound = (count, isBelow) => {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBelow(middle)) low = middle + 1; else high = middle;
    }
    return low;
  };

  const firstIn = (lane, time) => lowerBound(lane.rows.length, (i) => lane.until[i] <= time);

  // The event of a lane at a time, the innermost; null without.
  const eventAt = (lane, time) => {
    let found = null;
    const { rows, frame } = lane;
    for (let i = firstIn(lane, time); i < rows.length && frame.start[rows[i]] <= time; i += 1) {
      const row = rows[i];
      if (frame.start[row] + length(frame, row) > time) found = { lane, place: i, row };
    }
    return found;
  };

  // ---- words ----

  const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
  const duration = (ns) => {
    const [unit, size] = UNITS.find(([, one]) => Math.abs(ns) >= one) || UNITS[3];
    return `${size === 1 ? Math.round(ns) : (ns / size).toFixed(2)} ${unit}`;
  };

  const colour = (name) => getComputedStyle(document.documentElement)
    .getPropertyValue(`--${name}`).trim();
  const PALETTE = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

  // ---- the view ----

  const ROW = 18;
  const AXIS = 22;
  const show = (scene) => {
    const { lanes, labels, window: full, view, span } = scene;
    const first = Math.min(span.first, full.first);
    const last = Math.max(span.last, full.last, first + 1);
    const scale = d3.scaleLinear().domain([first, last]);
    const pen = canvas.getContext("2d");
    let width = 0;
    let gutter = 0;
    let colours = {};
    let selected = null;
    let wanted = null; // of labels: which are looked for
    let scheduled = false;

    const height = AXIS + lanes.length * ROW + 2;
    const x = () => d3.zoomTransform(canvas).rescaleX(scale);
    const laneAt = (y) => lanes[Math.floor((y - AXIS) / ROW)];

    const readColours = () => {
      colours = Object.fromEntries([...PALETTE, "ink", "soft", "line", "paper", "panel", "idle",
        "busy", "mark", "accent", "other"].map((name) => [name, colour(name)]));
      colours.of = labels.map((text) => {
        let hash = 0;
        for (const letter of text) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
        return colours[PALETTE[hash % PALETTE.length]];
      });
      // neighbours among stages differ
      scene.stages.forEach((name, i) => {
        const label = labels.indexOf(name);
        if (label >= 0) colours.of[label] = colours[PALETTE[i % PALETTE.length]];
      });
    };

    const fill = (lane, row) => {
      if (lane.kind === "stage" || lane.kind === "gpu") return colours.of[lane.frame.label[row]];
      return /Synchronize/.test(labels[lane.frame.label[row]]) ? colours.c4 : colours.other;
    };

    // Where nothing is known one by one: how busy the lane was.
    const drawShares = (lane, top, to) => {
      const count = lane.shares.length;
      pen.fillStyle = colours.other;
      for (let i = 0; i < count; i += 1) {
        const start = span.first + ((span.last - span.first) * i) / count;
        const end = start + (span.last - span.first) / count;
        if (!lane.shares[i] || (end > full.first && start < full.last)) continue;
        const left = Math.max(to(start), gutter);
        const right = Math.min(to(end), width);
        const tall = Math.max(1, ((ROW - 4) * lane.shares[i]) / 255);
        if (right > left) pen.fillRect(left, top + ROW - 2 - tall, right - left, tall);
      }
    };

    const drawText = (text, left, right, top) => {
      const from = Math.max(left, gutter) + 3;
      const room = Math.floor((Math.min(right, width) - from - 2) / 6.2);
      if (room < 3) return;
      pen.fillStyle = colours.paper;
      pen.fillText(text.length > room ? `${text.slice(0, room - 1)}…` : text, from, top + 12.5);
    };

    const drawEvent = (lane, row, left, right, top) => {
      const { frame } = lane;
      pen.fillStyle = fill(lane, row);
      pen.fillRect(left, top + 1, right - left, ROW - 3);
      // a collective: waiting until the last rank came, then transfer
      if (frame.waiting && frame.waiting[row] > 0 && length(frame, row) > 0) {
        pen.fillStyle = colours.idle;
        pen.fillRect(left, top + 1, (right - left) * Math.min(1,
          frame.waiting[row] / length(frame, row)), ROW - 3);
      }
      if (right - left > 24) drawText(labels[frame.label[row]], left, right, top);
    };

    // Samples as tall as their percents; those narrower than a pixel as their mean.
    const drawSamples = (lane, top, to, from, until) => {
      const { rows, frame } = lane;
      let [pixel, sum, count] = [-1, 0, 0];
      const bar = (left, wide, percent) => {
        const tall = ((ROW - 4) * Math.min(percent, 100)) / 100;
        pen.fillRect(left, top + ROW - 2 - tall, wide, tall);
      };
      const flush = () => {
        if (count) bar(pixel, 1, sum / count);
        [sum, count] = [0, 0];
      };
      pen.fillStyle = colours.accent;
      for (let i = firstIn(lane, from); i < rows.length; i += 1) {
        const row = rows[i];
        const left = Math.max(to(frame.start[row]), gutter);
        const right = Math.min(to(frame.start[row] + length(frame, row)), width);
        if (frame.start[row] >= until) break;
        if (right - left >= 1) {
          flush();
          bar(left, right - left, frame.percent[row]);
          continue;
        }
        if (Math.floor(left) !== pixel) { flush(); pixel = Math.floor(left); }
        sum += frame.percent[row];
        count += 1;
      }
      flush();
    };

    // Events narrower than a pixel share it: as dense as they cover it.
    const drawLane = (lane, top, to, from, until) => {
      const { rows, frame } = lane;
      let pixel = -1;
      let covered = 0;
      let last = 0;
      const flush = () => {
        if (pixel < 0) return;
        pen.globalAlpha = Math.min(1, 0.25 + covered) * (dimmed(frame.label[last]) ? 0.15 : 1);
        pen.fillStyle = fill(lane, last);
        pen.fillRect(pixel, top + 1, 1, ROW - 3);
        pen.globalAlpha = 1;
        pixel = -1;
        covered = 0;
      };
      for (let i = firstIn(lane, from); i < rows.length; i += 1) {
        const row = rows[i];
        const start = frame.start[row];
        if (start >= until) break;
        const left = to(start);
        const right = to(start + length(frame, row));
        if (right < gutter) continue;
        if (right - left < 1) {
          const here = Math.floor(left);
          if (here !== pixel) { flush(); pixel = here; }
          covered += right - left;
          if (last === row || !dimmed(frame.label[row])) last = row;
          continue;
        }
        flush();
        pen.globalAlpha = dimmed(frame.label[row]) ? 0.15 : 1;
        drawEvent(lane, row, Math.max(left, gutter - 1), Math.min(right, width + 1), top);
        pen.globalAlpha = 1;
      }
      flush();
    };

    const dimmed = (label) => wanted !== null && !wanted.has(label);

    const drawAxis = (to) => {
      const since = to.copy().domain(to.domain().map((time) => time - first));
      const ticks = since.ticks(Math.max(2, Math.floor((width - gutter) / 110)));
      const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
      const [unit, size] = UNITS.find(([, one]) => step >= one) || UNITS[3];
      pen.strokeStyle = colours.line;
      pen.fillStyle = colours.soft;
      pen.beginPath();
      for (const tick of ticks) {
        const at = Math.round(since(tick)) + 0.5;
        if (at < gutter) continue;
        pen.moveTo(at, AXIS - 4);
        pen.lineTo(at, height);
        const said = `${Number((tick / size).toPrecision(9)).toLocaleString("en",
          { maximumFractionDigits: 6 })} ${unit}`;
        if (at < width - 50) pen.fillText(said, at + 3, 12);
      }
      pen.stroke();
    };

    const drawNames = () => {
      pen.fillStyle = colours.paper;
      pen.fillRect(0, 0, gutter, height);
      lanes.forEach((lane, index) => {
        const room = Math.floor((gutter - 8) / 6);
        pen.fillStyle = lane.kind === "gpu" ? colours.ink : colours.soft;
        pen.fillText(lane.title.length > room ? `${lane.title.slice(0, room - 1)}…` : lane.title, 2,
          AXIS + index * ROW + 12.5);
      });
    };

    const drawSelected = (to) => {
      if (!selected) return;
      const { lane, row } = selected;
      const left = to(lane.frame.start[row]);
      const wide = Math.max(2, to(lane.frame.start[row] + length(lane.frame, row)) - left);
      if (left + wide < gutter || left > width) return;
      pen.strokeStyle = colours.ink;
      pen.lineWidth = 2;
      pen.strokeRect(left, AXIS + lane.index * ROW + 1, wide, ROW - 3);
      pen.lineWidth = 1;
      const other = counterpart(selected);
      if (!other) return;
      pen.beginPath();
      pen.moveTo(to(other.lane.frame.start[other.row]), AXIS + other.lane.index * ROW + ROW / 2);
      pen.lineTo(left, AXIS + lane.index * ROW + ROW / 2);
      pen.strokeStyle = colours.accent;
      pen.stroke();
    };

    const draw = () => {
      scheduled = false;
      const began = performance.now();
      const to = x();
      const [from, until] = [to.invert(gutter), to.invert(width)];
      pen.font = "11px system-ui, sans-serif";
      pen.clearRect(0, 0, width, height);
      pen.fillStyle = colours.paper;
      pen.fillRect(0, 0, width, height);
      drawAxis(to);
      lanes.forEach((lane, index) => {
        const top = AXIS + index * ROW;
        pen.fillStyle = colours.line;
        pen.fillRect(0, top + ROW - 1, width, 0.5);
        drawShares(lane, top, to);
        (lane.kind === "sample" ? drawSamples : drawLane)(lane, top, to, from, until);
      });
      drawSelected(to);
      drawNames();
      canvas.dataset.paint = (performance.now() - began).toFixed(2);
      canvas.dataset.from = String(Math.round(from - first));
      canvas.dataset.until = String(Math.round(until - first));
    };
    const redraw = () => {
      if (scheduled) return;
      scheduled = true;
      requestAnimationFrame(draw);
    };

    // ---- zoom ----

    const zoom = d3.zoom()
      .filter((given) => {
        const event = given && given.type ? given : d3.event;
        if (event.type === "wheel") {
          return document.activeElement === canvas || event.ctrlKey || event.metaKey;
        }
        return !event.ctrlKey && !event.button;
      })
      .on("zoom", redraw);
    const surface = d3.select(canvas);

    const lookAt = (from, until) => {
      const middle = (from + until) / 2;
      const wide = Math.max(until - from, (last - first) / 1e8, 1);
      const k = (last - first) / wide;
      const at = gutter + ((middle - first) / (last - first)) * (width - gutter);
      surface.call(zoom.transform, d3.zoomIdentity
        .translate((gutter + width) / 2 - k * at, 0).scale(k));
    };

    const resize = () => {
      const to = width ? x() : null;
      const seen = to ? [to.invert(gutter), to.invert(width)] : [view.first, view.last];
      width = Math.max(canvas.parentElement.clientWidth, 200);
      gutter = Math.min(190, Math.floor(width / 4));
      const ratio = window.devicePixelRatio || 1;
      canvas.width = Math.floor(width * ratio);
      canvas.height = Math.floor(height * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      scale.range([gutter, width]);
      zoom.extent([[gutter, 0], [width, height]]).translateExtent([[gutter, 0], [width, height]])
        .scaleExtent([1, Math.max(1, (last - first) / 20)]);
      lookAt(...seen);
      redraw();
    };

    // ---- selecting ----

    // Launches by the time that their call began; a call's operations.
    const { gpu, api } = scene;
    const byLaunch = new Map();
    for (let row = 0; row < gpu.rows; row += 1) {
      const start = gpu.api_start[row];
      if (start === start) {
        if (byLaunch.has(start)) byLaunch.get(start).push(row); else byLaunch.set(start, [row]);
      }
    }
    const callAt = new Map();
    for (let row = 0; row < api.rows; row += 1) callAt.set(api.start[row], row);
    const placed = (frame, row) => {
      const lane = lanes[frame.lane[row]];
      return { lane, row, place: lane.rows.indexOf(row) };
    };
    const counterpart = ({ lane, row }) => {
      if (lane.kind === "gpu") {
        const call = callAt.get(gpu.api_start[row]);
        return call === undefined ? null : placed(api, call);
      }
      const launched = lane.kind === "api" && byLaunch.get(api.start[row]);
      return launched ? placed(gpu, launched[0]) : null;
    };

    const around = (kind, time, rank) => lanes
      .filter((lane) => lane.kind === kind && lane.rank === rank)
      .map((lane) => eventAt(lane, time)).filter(Boolean)
      .map(({ lane, row }) => labels[lane.frame.label[row]])
      .filter((name, i, names) => names.indexOf(name) === i).join("; ");

    const counters = (id) => {
      const row = document.getElementById(`kernel-${id}`);
      if (!row) return "";
      const heads = [...row.closest("table").tHead.rows[0].cells].map((cell) => cell.textContent);
      return ["bound", "at %", "SM %", "DRAM %", "occupancy %", "AI FLOP/B"].map((head) => {
        const cell = row.cells[heads.indexOf(head)];
        return cell && cell.textContent ? `${head} ${cell.textContent}` : "";
      }).filter(Boolean).join(", ");
    };

    const facts = ({ lane, row }) => {
      const { frame } = lane;
      const start = frame.start[row];
      const list = [["on", lane.title], ["from", duration(start - first)],
        ["took", duration(length(frame, row))]];
      if (lane.kind === "sample") list.push(["sampled", `${frame.percent[row]} %`]);
      if (lane.kind === "gpu") {
        if (frame.place[row] >= 0) list.push(["stage", scene.stages[frame.place[row]]]);
        const other = counterpart({ lane, row });
        if (other) list.push(["launched by", `${labels[api.label[other.row]]} (${other.lane.title})`]);
        if (frame.queue_time[row] > 0) list.push(["delay", `${duration(frame.queue_time[row])
        } after the call`]);
        if (frame.waiting[row] > 0) {
          list.push(["waited", `${duration(frame.waiting[row])} for other ranks, then transfer ${
            duration(length(frame, row) - frame.waiting[row])}`]);
        }
        const said = counters(frame.kernel[row]);
        if (said) list.push(["counters", said]);
      }
      const launched = lane.kind === "api" && byLaunch.get(start);
      if (launched) {
        list.push(["launched", `${launched.length} operation${launched.length > 1 ? "s" : ""}: ${
          labels[gpu.label[launched[0]]]}`]);
      }
      for (const kind of ["step", "layer"]) {
        const said = lane.kind !== kind && around(kind, start, lane.rank);
        if (said) list.push([kind, said]);
      }
      return list;
    };

    const describe = () => {
      detail.replaceChildren();
      if (!selected) return;
      const { lane, row } = selected;
      const title = document.createElement("b");
      title.textContent = labels[lane.frame.label[row]];
      const list = document.createElement("dl");
      for (const [name, text] of facts(selected)) {
        const term = document.createElement("dt");
        const said = document.createElement("dd");
        term.textContent = name;
        said.textContent = text;
        const fact = document.createElement("div");
        fact.append(term, said);
        list.append(fact);
      }
      detail.append(title, list);
      const id = lane.kind === "gpu" ? lane.frame.kernel[row] : -1;
      if (id > 0 && document.getElementById(`kernel-${id}`)) {
        const link = document.createElement("a");
        link.href = `#kernel-${id}`;
        link.textContent = `kernel ${id} in the table`;
        detail.append(link);
      }
    };

    const select = (event, isSought) => {
      selected = event;
      describe();
      if (event && isSought) {
        const start = event.lane.frame.start[event.row];
        const took = length(event.lane.frame, event.row);
        const to = x();
        const seen = to.invert(width) - to.invert(gutter);
        const near = Math.max(Math.min(seen, took * 40), took * 3, 2000);
        lookAt(start + took / 2 - near / 2, start + took / 2 + near / 2);
        const holder = canvas.parentElement;
        holder.scrollTop = AXIS + event.lane.index * ROW - holder.clientHeight / 2;
      }
      redraw();
    };

    canvas.addEventListener("click", (given) => {
      const box = canvas.getBoundingClientRect();
      const lane = laneAt(given.clientY - box.top);
      const at = given.clientX - box.left;
      canvas.focus();
      if (!lane || at < gutter) return select(null);
      const to = x();
      const exact = eventAt(lane, to.invert(at));
      const near = exact || eventAt(lane, to.invert(at + 2)) || eventAt(lane, to.invert(at - 2));
      return select(near);
    });

    // ---- looking for ----

    const search = find("input");
    let matches = []; // { lane, place, row } by start
    let current = -1;

    const lookFor = (isWanted, said) => {
      wanted = isWanted && new Set(labels.map((_, i) => i).filter(isWanted));
      matches = [];
      current = -1;
      for (const lane of wanted ? lanes : []) {
        lane.rows.forEach((row, place) => {
          if (wanted.has(lane.frame.label[row])) matches.push({ lane, place, row });
        });
      }
      matches.sort((a, b) => a.lane.frame.start[a.row] - b.lane.frame.start[b.row]);
      status.textContent = wanted ? `${matches.length.toLocaleString("en")} events${said || ""}` : "";
      redraw();
    };

    const step = (by) => {
      if (!matches.length) return;
      current = (current + by + matches.length) % matches.length;
      status.textContent = `${(current + 1).toLocaleString("en")} of ${
        matches.length.toLocaleString("en")} events`;
      select(matches[current], true);
    };

    search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      lookFor(words.length && ((i) => words.every((word) => labels[i].toLowerCase()
        .includes(word))));
    });
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { step(event.shiftKey ? -1 : 1); event.preventDefault(); }
    });

    const toTimeline = () => {
      figure.scrollIntoView({ block: "start" });
      canvas.focus({ preventScroll: true });
    };

    // From a row of the table to the launches of its kernel.
    const launches = (id) => {
      search.value = "";
      lookFor(null);
      const rows = [];
      for (let row = 0; row < gpu.rows; row += 1) if (gpu.kernel[row] === id) rows.push(row);
      matches = rows.map((row) => placed(gpu, row))
        .sort((a, b) => gpu.start[a.row] - gpu.start[b.row]);
      wanted = new Set(rows.map((row) => gpu.label[row]));
      toTimeline();
      step(1);
    };
    // The first cell of a row as a button.
    const makeJump = (row, title, action) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "jump";
      button.title = title;
      button.textContent = row.cells[0].textContent;
      button.addEventListener("click", action);
      row.cells[0].replaceChildren(button);
    };
    const counted = new Set(gpu.kernel);
    for (const row of document.querySelectorAll("#table-kernels tbody tr[id^='kernel-']")) {
      const id = Number(row.id.slice("kernel-".length));
      if (counted.has(id)) makeJump(row, "show its launches in the timeline", () => launches(id));
    }
    for (const row of document.querySelectorAll("#table-gaps tbody tr[id^='gap-']")) {
      const [start, took] = row.id.split("-").slice(1).map(Number);
      makeJump(row, "show it in the timeline", () => {
        select(null);
        lookAt(start - took, start + 2 * took);
        toTimeline();
      });
    }

    // ---- keys and buttons ----

    const neighbour = (by) => {
      if (!selected) return step(by);
      const { lane, place } = selected;
      const row = lane.rows[place + by];
      return row === undefined ? undefined : select({ lane, place: place + by, row }, true);
    };

    const pan = (part) => surface.call(zoom.translateBy,
      (part * (width - gutter)) / d3.zoomTransform(canvas).k, 0);
    const actions = {
      w: () => surface.call(zoom.scaleBy, 1.5), s: () => surface.call(zoom.scaleBy, 1 / 1.5),
      a: () => pan(0.2), d: () => pan(-0.2),
      0: () => lookAt(first, last), 1: () => lookAt(view.first, view.last),
      ArrowLeft: () => neighbour(-1), ArrowRight: () => neighbour(1),
      n: () => step(1), p: () => step(-1),
      Escape: () => { search.value = ""; lookFor(null); select(null); },
      "/": () => search.focus(),
    };
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    });
    for (const button of figure.querySelectorAll("button[data-key]")) {
      button.addEventListener("click", () => actions[button.dataset.key]());
    }

    const whole = full.first <= span.first && full.last >= span.last;
    find(".extent").textContent = whole ? "Every event of the run is here."
      : `Every event from ${duration(full.first - first)} to ${duration(full.last - first)
      } is here, of ${duration(last - first)}.`;
    if (scene.samples_until) {
      find(".extent").textContent +=
        ` Samples of the hardware are here until ${duration(scene.samples_until - first)}.`;
    }
    if (scene.hidden) find(".extent").textContent += ` ${scene.hidden} more lanes are not drawn.`;
    readColours();
    canvas.style.height = `${height}px`;
    surface.call(zoom).on("dblclick.zoom", null);
    figure.hidden = false;
    resize();
    new ResizeObserver(() => {
      if (canvas.parentElement.clientWidth !== width) resize();
    }).observe(canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      readColours();
      redraw();
    });
    document.documentElement.classList.add("has-timeline");
  };

  unpack(packed.textContent).then((bytes) => {
    const scene = parse(bytes);
    arrange(scene);
    show(scene);
  }).catch((error) => {
    figure.hidden = false;
    canvas.hidden = true;
    status.textContent = `The timeline cannot be drawn here: ${error.message}.`;
  });
})();
