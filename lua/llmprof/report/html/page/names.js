// Shortened names: a click shows one in full, another the short one again.
"use strict";

const swap = (name) => {
  const holder = name.querySelector("code") || name;
  [holder.textContent, name.title] = [name.title, holder.textContent];
  name.setAttribute("aria-expanded", String(name.getAttribute("aria-expanded") !== "true"));
};

const makeNames = (table) => {
  for (const name of table.querySelectorAll("td > span[title]")) {
    name.tabIndex = 0;
    name.setAttribute("role", "button");
    name.setAttribute("aria-expanded", "false");
  }
  const nameOf = (event) => event.target.closest("td > span[title]");
  table.addEventListener("click", (event) => {
    if (nameOf(event) && !String(getSelection())) swap(nameOf(event));
  });
  table.addEventListener("keydown", (event) => {
    if (!nameOf(event) || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    swap(nameOf(event));
  });
};

module.exports = { makeNames };
