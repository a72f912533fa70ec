// Tables that sort and filter, links and folds. Without this script they stand as they were
// made.
"use strict";
const { makeCopies } = require("./copy");
const { makeFilter } = require("./filter");
const { followLinks } = require("./links");
const { makeNames } = require("./names");
const { unfoldOnPaper } = require("./paper");
const { makeSortable } = require("./sort");
const { followTicks } = require("./ticks");

const showAll = [];
for (const holder of document.querySelectorAll(".table")) {
  const table = holder.querySelector("table");
  if (holder.classList.contains("filter")) showAll.push(makeFilter(holder, table));
  makeSortable(table);
  makeNames(table);
  makeCopies(holder, table);
}
followLinks(showAll);
unfoldOnPaper();
followTicks();
