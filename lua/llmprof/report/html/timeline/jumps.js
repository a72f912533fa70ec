// From rows of the page's tables and from findings to their places in the timeline.
"use strict";
const { eventsOf, finder } = require("./places");

const buttonFor = (action) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "jump";
  button.title = "show in the timeline";
  button.setAttribute("aria-label", button.title);
  button.addEventListener("click", action);
  return button;
};

// Where the button of an element stands: in a row's first cell, in a finding's text.
const holderOf = (element) => (element.cells ? element.cells[0]
  : element.querySelector(".gain") || element.querySelector("p"));

const create = ({ figure, canvas, timeline, view, search, span }) => {
  const isHere = finder(timeline);
  const show = (place) => {
    if (place.from === undefined) {
      search.show(eventsOf(timeline, place));
    } else {
      const took = place.until - place.from;
      view.lookAt(place.from - took, place.until + took);
      span.show(place);
    }
    figure.scrollIntoView({ block: "start" });
    canvas.focus({ preventScroll: true });
  };
  for (const element of document.querySelectorAll("[data-place]")) {
    const place = JSON.parse(element.dataset.place);
    if (isHere(place)) holderOf(element).prepend(buttonFor(() => show(place)));
  }
};

module.exports = { create };
