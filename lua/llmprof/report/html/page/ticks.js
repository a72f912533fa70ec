// Findings that are ticked: what their changes gain together, and how to replay them.
"use strict";

// ticked: ranks and gains of findings, ascending; pairs: by two ranks what both gain.
const together = (ticked, pairs, run) => {
  if (ticked.length === 0) return "";
  const ranks = ticked.map((one) => one.rank).join(" ");
  const gain = ticked.length === 1 ? ticked[0].gain : pairs[ranks];
  return `${gain ? `Replayed: ${gain}. ` : ""}llmprof whatif ${run} ${ranks}`;
};

const followTicks = () => {
  const shown = document.querySelector(".together");
  const ticks = [...document.querySelectorAll("input.tick")];
  if (!shown) return;
  const pairs = JSON.parse(shown.dataset.pairs);
  const show = () => {
    const ticked = ticks.filter((tick) => tick.checked)
      .map((tick) => ({ rank: tick.value, gain: tick.dataset.gain }));
    shown.textContent = together(ticked, pairs, shown.dataset.run);
  };
  for (const tick of ticks) {
    tick.hidden = false;
    tick.addEventListener("change", show);
  }
};

module.exports = { followTicks, together };
