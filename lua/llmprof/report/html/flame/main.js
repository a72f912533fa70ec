// Flame graphs that zoom: a click or Enter makes a function as wide as the graph, Escape
// shows all. Arrow keys go from a function to what called it, to what it called, and to
// its neighbours. Without this script the graphs stand as they were made.
"use strict";
const { firstCalled, neighbour } = require("./frames");
const graphs = require("./graph");

const HOW = "Point at a function for its share; a click or Enter widens it, Escape shows all, "
  + "arrows move.";

const element = (tag, className, text) => {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
};

const listen = (svg, graph) => {
  const keys = {
    ArrowUp: () => graph.focus(graph.current().parent),
    ArrowDown: () => graph.focus(firstCalled(graph.frames, graph.current())),
    ArrowLeft: () => graph.focus(neighbour(graph.frames, graph.current(), -1)),
    ArrowRight: () => graph.focus(neighbour(graph.frames, graph.current(), 1)),
    Enter: () => graph.zoom(graph.current()),
    " ": () => graph.zoom(graph.current()),
    Escape: () => graph.zoom(null),
  };
  svg.addEventListener("click", (event) => {
    const frame = graph.frameOf(event);
    if (!frame) return;
    graph.zoom(frame);
    graph.focus(frame);
  });
  svg.addEventListener("pointerover", (event) =>
    graph.tell(graph.frameOf(event) || graph.current()));
  svg.addEventListener("focusin", (event) => {
    const frame = graph.frameOf(event);
    if (frame) graph.hold(frame);
  });
  svg.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
};

for (const figure of document.querySelectorAll(".flame")) {
  const svg = figure.querySelector("svg");
  const said = element("p", "note said", HOW);
  const whole = element("button", "", "Show all");
  whole.type = "button";
  const graph = graphs.create(svg, {
    said: (text) => { said.textContent = text; },
    changed: (isZoomed) => { whole.hidden = !isZoomed; },
  });
  whole.addEventListener("click", () => {
    graph.zoom(null);
    graph.focus(graph.frames[0]);
  });
  listen(svg, graph);
  const tools = element("div", "tools", "");
  tools.append(said, whole);
  figure.append(tools);
  graph.zoom(null);
}
