// Flame graphs that zoom: a click or Enter makes a function as wide as the graph, Escape
// shows all. Arrow keys go from a function to what called it, to what it called, and to
// its neighbours. Without this script the graphs stand as they were made.
"use strict";
(() => {
  const ROW = 18;
  const TOLERANCE = 1e-6; // places are rounded

  const placeOf = (element) => {
    const x = parseFloat(element.getAttribute("x"));
    const depth = Number(element.getAttribute("y")) / ROW;
    return { element, x, depth, width: parseFloat(element.getAttribute("width")) };
  };

  const encloses = (outer, inner) => outer.x <= inner.x + 2e-3
    && outer.x + outer.width >= inner.x + inner.width - 2e-3;

  const makeButton = (title, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title;
    button.addEventListener("click", act);
    return button;
  };

  const make = (figure) => {
    const graph = figure.querySelector("svg");
    const frames = [...graph.children].map(placeOf);
    const byElement = new Map(frames.map((frame) => [frame.element, frame]));
    frames.forEach((frame, index) => { frame.index = index; });

    // Each comes after the one that called it.
    const path = [];
    for (const frame of frames) {
      path.length = frame.depth;
      frame.parent = path[frame.depth - 1] || null;
      path[frame.depth] = frame;
    }

    const said = document.createElement("p");
    said.className = "note said";
    const tell = (frame) => {
      said.textContent = frame ? frame.element.querySelector("title").textContent : "";
    };

    let zoomed = null;
    const draw = () => {
      const left = zoomed ? zoomed.x : 0;
      const scale = zoomed ? 100 / Math.max(zoomed.width, TOLERANCE) : 1;
      const above = new Set();
      for (let at = zoomed && zoomed.parent; at; at = at.parent) above.add(at);
      let deepest = 0;
      for (const frame of frames) {
        const { element } = frame;
        const inside = !zoomed || (frame.depth >= zoomed.depth && encloses(zoomed, frame));
        if (inside) deepest = Math.max(deepest, frame.depth);
        element.classList.toggle("above", above.has(frame));
        element.classList.toggle("away", !inside && !above.has(frame));
        element.setAttribute("x", above.has(frame) ? "0%" : `${(frame.x - left) * scale}%`);
        element.setAttribute("width", above.has(frame) ? "100%" : `${frame.width * scale}%`);
      }
      graph.setAttribute("height", (deepest + 1) * ROW);
      whole.hidden = !zoomed;
    };
    const zoom = (frame) => {
      zoomed = frame && frame.width < 100 - TOLERANCE ? frame : null;
      draw();
    };
    const whole = makeButton("Show all", () => {
      zoom(null);
      focus(frames[0]);
    });

    // One of them is in the order of tabs.
    let current = frames[0];
    const hold = (frame) => {
      current.element.setAttribute("tabindex", "-1");
      current = frame;
      current.element.setAttribute("tabindex", "0");
      tell(frame);
    };
    const focus = (frame) => {
      if (!frame || frame.element.classList.contains("away")) return;
      hold(frame);
      frame.element.focus();
    };

    const neighbour = (step) => {
      for (let i = current.index + step; frames[i]; i += step) {
        if (frames[i].depth === current.depth) return frames[i];
      }
      return null;
    };
    const keys = {
      ArrowUp: () => focus(current.parent),
      ArrowDown: () => {
        const next = frames[current.index + 1];
        if (next && next.parent === current) focus(next);
      },
      ArrowLeft: () => focus(neighbour(-1)),
      ArrowRight: () => focus(neighbour(1)),
      Enter: () => zoom(current),
      " ": () => zoom(current),
      Escape: () => zoom(null),
    };

    const frameOf = (event) => {
      const element = event.target.closest && event.target.closest("svg svg");
      return element ? byElement.get(element) : null;
    };
    graph.addEventListener("click", (event) => {
      const frame = frameOf(event);
      if (!frame) return;
      zoom(frame);
      focus(frame);
    });
    graph.addEventListener("pointerover", (event) => tell(frameOf(event) || current));
    graph.addEventListener("focusin", (event) => {
      const frame = frameOf(event);
      if (frame) hold(frame);
    });
    graph.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });

    const tools = document.createElement("div");
    tools.className = "tools";
    const how = document.createElement("span");
    how.className = "note";
    how.textContent = "A click or Enter widens a function, Escape shows all, arrows move.";
    tools.append(how, whole);
    figure.prepend(tools);
    figure.append(said);
    draw();
  };

  for (const figure of document.querySelectorAll(".flame")) make(figure);
})();
