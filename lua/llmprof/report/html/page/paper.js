// Paper has no folds: the first findings in full, the titles of the others.
"use strict";

const FINDINGS = 4;

const unfoldOnPaper = () => {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll(
      `.chapter:not([open]), .finding:nth-of-type(-n+${FINDINGS}):not([open])`)];
    for (const each of folded) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of folded.splice(0)) each.open = false;
  });
};

module.exports = { unfoldOnPaper };
