// The names of lanes: a click collapses one, with shift all of its kind; dragging or Alt with an
// arrow moves it; the button beside it, or P, pins it. Tab stops at one of them, arrows go on.
"use strict";
const { shortLane } = require("./format");
const { laneAt, move, toggle } = require("./rows");

const FEWEST = 6; // pixels of a drag that is meant as one
const NARROW = 150; // pixels that do not hold the names of lanes in full

const buttonOf = (className, text) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = className;
  button.textContent = text;
  return button;
};

const entryOf = (lane) => {
  const entry = document.createElement("div");
  const [name, pin] = [buttonOf(`name ${lane.kind}`, lane.title), buttonOf("pin", "")];
  name.title = `${lane.title}: collapse; drag to move`;
  pin.title = "pin";
  pin.tabIndex = -1;
  pin.setAttribute("aria-label", `Pin ${lane.title}`);
  entry.append(name, pin);
  return { lane, entry, name, pin };
};

// The focus to the lane above or below.
const goTo = (entry, by) => {
  const other = by < 0 ? entry.previousElementSibling : entry.nextElementSibling;
  if (!other) return;
  [entry.firstChild.tabIndex, other.firstChild.tabIndex] = [-1, 0];
  other.firstChild.focus();
};

const listen = ({ lane, name, pin }, { rows, box, changed }) => {
  let began = null;
  const collapse = (event) => {
    const like = event.shiftKey ? rows.order.filter(({ kind }) => kind === lane.kind) : [lane];
    toggle(rows.collapsed, like, !rows.collapsed.has(lane));
    changed();
  };
  const pinned = () => { toggle(rows.pinned, [lane], !rows.pinned.has(lane)); changed(); };
  const moved = (by) => { move(rows, lane, by); changed(); name.focus(); };
  const dragged = ({ clientY }) => {
    if (!began || Math.abs(clientY - began.y) < FEWEST) return;
    began.isDrag = true;
    const other = laneAt(rows, clientY - box.getBoundingClientRect().top);
    if (other && other !== lane) moved(other.top > lane.top ? 1 : -1);
  };
  pin.addEventListener("click", pinned);
  name.addEventListener("click", (event) => { if (!began || !began.isDrag) collapse(event); began = null; });
  name.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button) return;
    began = { y: event.clientY, isDrag: false };
    name.setPointerCapture(event.pointerId);
  });
  name.addEventListener("pointermove", (event) => { if (event.buttons) dragged(event); });
  name.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by && event.altKey) moved(by);
    else if (by) goTo(name.parentElement, by);
    else if (event.key.toLowerCase() === "p") pinned();
    else return;
    event.preventDefault();
  });
};

// { place(): puts the names where their lanes are }
const create = ({ box, rows, changed }) => {
  const entries = rows.order.map(entryOf);
  entries.forEach(({ name }, i) => { name.tabIndex = i ? -1 : 0; });
  for (const each of entries) {
    listen(each, { rows, box, changed });
    box.append(each.entry);
  }
  return { place: (width) => {
    for (const { lane, entry, name, pin } of entries) {
      entry.style.top = `${lane.top}px`;
      entry.style.width = `${width}px`;
      name.textContent = width < NARROW ? shortLane(lane.title) : lane.title;
      entry.classList.toggle("thin", rows.collapsed.has(lane));
      entry.classList.toggle("pinned", rows.pinned.has(lane));
      name.setAttribute("aria-expanded", String(!rows.collapsed.has(lane)));
      pin.setAttribute("aria-pressed", String(rows.pinned.has(lane)));
    }
    // the order of the keyboard is that of the eye
    const sorted = [...entries].sort((a, b) => a.lane.top - b.lane.top);
    if (sorted.some(({ entry }, i) => box.children[i] !== entry)) {
      box.append(...sorted.map(({ entry }) => entry));
    }
  } };
};

module.exports = { create };
