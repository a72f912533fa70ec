// The timeline: events of llmprof.analysis.timeline.events on a canvas, with D3's zoom and scale.
"use strict";
const align = require("./align");
const colours = require("./colours");
const { write } = require("./details");
const { extent } = require("./format");
const gutters = require("./gutter");
const hover = require("./hover");
const jumps = require("./jumps");
const keys = require("./keys");
const { arrange } = require("./lanes");
const { link } = require("./launches");
const legend = require("./legend");
const { paint } = require("./paint");
const permalinks = require("./permalink");
const rows = require("./rows");
const { parse, unpack } = require("./timeline_data");
const { reach } = require("./scale");
const searching = require("./search");
const selecting = require("./select");
const spans = require("./span");
const views = require("./view");

const { colours: table } = JSON.parse(document.getElementById("data").textContent);

const watch = (holder, view, recolour) => {
  holder.addEventListener("scroll", view.redraw, { passive: true });
  // drawn at once: a canvas of a new size is empty, and the screen would show that for a frame
  new ResizeObserver(() => {
    if (holder.clientWidth === view.width) return;
    view.resize();
    view.draw();
  }).observe(holder);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    recolour();
    view.redraw();
  });
};

// { figure, canvas, view, jump, open(): where the address leads }.
const show = (figure, timeline) => {
  const find = (selector) => figure.querySelector(selector);
  const canvas = find("canvas");
  const links = link(timeline);
  // selected, below the pointer, measured, found (null: all)
  const marked = { event: null, hovered: null, span: null, shown: null };
  let permalink = null;
  const changed = () => permalink && permalink.write();
  let colour = colours.read(timeline, table);

  const holder = canvas.parentElement;
  const view = views.create(canvas, timeline);
  view.rows = rows.create(timeline.lanes);
  const gutter = gutters.create({ box: find(".names"), rows: view.rows, changed: () => {
    rows.place(view.rows, holder.scrollTop);
    view.redraw();
  } });
  view.draw = () => {
    const scrolled = holder.scrollTop;
    const { height, fixed } = rows.place(view.rows, scrolled);
    view.setHeight(height);
    gutter.place(view.gutter);
    paint(canvas, { colours: colour, timeline, view, marked, flows: links.flows, scrolled, fixed });
    if (view.drawn) view.drawn();
  };
  const selection = selecting.create({ canvas, detail: find(".detail"), timeline, view, marked,
    links, changed });
  const { select } = selection;
  const search = searching.create({ input: find("input"), status: find(".status"), timeline, view,
    marked, select });
  const span = spans.create({ canvas, detail: find(".detail"), timeline, view, marked, select,
    changed });
  const leadHere = () => {
    if (!permalink) return;
    permalink.now();
    find(".status").textContent = "The page's address now links to this view.";
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).catch(() => {});
  };
  keys.create({ figure, canvas, timeline, view, marked, selection, search, span,
    link: leadHere });
  legend.create({ holder: find(".legend"), timeline, table, search });
  hover.create({ canvas, tip: find(".tip"), eventAt: selection.at,
    write: (tip, event) => write(tip, timeline, links, event),
    changed: (event) => { marked.hovered = event; view.redraw(); } });

  find(".extent").textContent = extent(timeline);
  view.setHeight(rows.place(view.rows, 0).height);
  figure.hidden = false;
  view.resize();
  watch(holder, view, () => { colour = colours.read(timeline, table); });
  return { figure, canvas, view, jump: jumps.create({ timeline, view, search, span }), open: () => {
    permalink = permalinks.create({ timeline, view, marked, select, span,
      show: () => figure.scrollIntoView({ block: "start" }) });
  } };
};

const fail = (figure, error) => {
  figure.hidden = false;
  figure.querySelector("canvas").hidden = true;
  figure.querySelector(".status").textContent
    = `The timeline cannot be drawn here: ${error.message}.`;
};

const loadAll = async (figures) => {
  const list = [];
  for (const figure of figures) {
    const packed = document.getElementById(`${figure.id}-data`);
    list.push({ figure, timeline: arrange(parse(await unpack(packed.textContent))) });
  }
  return list;
};

const showAll = (list) => {
  const pairs = list.length > 1 ? align.pairsOf(...list.map(({ timeline }) => timeline)) : [];
  if (pairs.length) {
    const reaches = align.reachesOf(list.map(({ timeline }) => reach(timeline)), pairs[0]);
    list.forEach(({ timeline }, i) => { timeline.reach = reaches[i]; });
  }
  const shown = list.map(({ figure, timeline }) => show(figure, timeline));
  jumps.addButtons(shown);
  if (pairs.length) align.follow(shown, pairs); else shown[0].open();
};

const all = [...document.querySelectorAll("figure.events")];
if (all.length && document.getElementById("events-data") && window.d3) {
  loadAll(all).then(showAll)
    .catch((error) => all.forEach((figure) => fail(figure, error)));
}
