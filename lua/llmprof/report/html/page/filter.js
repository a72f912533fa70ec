// Tables that show the rows with some words, or of some stage, category or bound.
"use strict";

const CHOICES = ["stage", "category", "bound"];

const hasWords = (text, sought) => sought.toLowerCase().split(/\s+/).filter(Boolean)
  .every((word) => text.toLowerCase().includes(word));

// A list of what a column of words holds, to choose from; null where that
// would not help.
const makeChoice = (table, title) => {
  const heads = [...table.tHead.rows[0].cells];
  const index = heads.findIndex((head) => head.textContent === title);
  if (index < 0) return null;
  const values = new Set([...table.tBodies[0].rows].map((row) => row.cells[index].textContent));
  if (values.size < 2) return null;
  const select = document.createElement("select");
  select.setAttribute("aria-label", title);
  select.append(new Option(`any ${title}`, ""));
  for (const value of [...values].filter(Boolean).sort()) select.append(new Option(value));
  return { select, index };
};

// Shortened names are found by all of them, which their titles have.
const textOf = (row) => [row.textContent, ...[...row.querySelectorAll("span[title]")]
  .map(({ title }) => title)].join(" ");

const makeInput = (title) => {
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = `Filter ${title.toLowerCase()}`;
  input.setAttribute("aria-label", input.placeholder);
  return input;
};

// Gives back what shows all rows again.
const makeFilter = (holder, table) => {
  const input = makeInput(holder.dataset.title);
  const choices = CHOICES.map((title) => makeChoice(table, title)).filter(Boolean);
  const shown = document.createElement("span");
  shown.className = "note";
  const rows = [...table.tBodies[0].rows];
  const isChosen = (row) => choices.every(({ select, index }) =>
    !select.value || row.cells[index].textContent === select.value);
  const apply = () => {
    for (const row of rows) row.hidden = !hasWords(textOf(row), input.value) || !isChosen(row);
    shown.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
  };
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.append(input, ...choices.map((choice) => choice.select), shown);
  input.addEventListener("input", apply);
  for (const choice of choices) choice.select.addEventListener("change", apply);
  holder.prepend(tools);
  apply();
  return () => {
    input.value = "";
    for (const choice of choices) choice.select.value = "";
    apply();
  };
};

module.exports = { hasWords, makeFilter };
