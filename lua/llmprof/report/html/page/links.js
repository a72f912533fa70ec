// Links within the page: what lies in something folded, or is hidden by a filter, is shown
// and in view.
"use strict";

// showAll: of each table with a filter, shows its rows.
const followLinks = (showAll) => {
  const reveal = (target) => {
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target.hidden) for (const each of showAll) each();
    target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" });
  };
  const follow = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target) reveal(target);
  };
  addEventListener("hashchange", follow);
  // again to where the address already leads
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) follow();
  });
  follow();
};

module.exports = { followLinks };
