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

// { isHere(place), show(place) } of a timeline.
const create = ({ timeline, view, search, span }) => {
  const show = (place) => {
    if (place.from === undefined) {
      search.show(eventsOf(timeline, place));
    } else {
      const took = place.until - place.from;
      view.lookAt(place.from - took, place.until + took);
      span.show(place);
    }
  };
  return { isHere: finder(timeline), show };
};

// Buttons of all rows and findings that any of these timelines has.
const addButtons = (shown) => {
  for (const element of document.querySelectorAll("[data-place]")) {
    const place = JSON.parse(element.dataset.place);
    const having = shown.filter(({ jump }) => jump.isHere(place));
    if (!having.length) continue;
    holderOf(element).prepend(buttonFor(() => {
      for (const { jump } of having) jump.show(place);
      having[0].figure.scrollIntoView({ block: "start" });
      having[0].canvas.focus({ preventScroll: true });
    }));
  }
};

module.exports = { addButtons, create };
