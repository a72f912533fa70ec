// Tables that sort by a click on the head of a column.
"use strict";

// The number that a cell shows, or null.
const numberOf = (text) => {
  const digits = text.trim().replaceAll(",", "");
  return digits !== "" && Number.isFinite(Number(digits)) ? Number(digits) : null;
};

// Cells without a value come last, whichever way the column is sorted.
const compare = (a, b, sign) => {
  if (a === null || b === null) return (a === null) - (b === null);
  return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
};

// Numbers begin with the largest, words with "a"; a second click turns them round.
const nextOrder = (before, isNumeric) => {
  const [first, second] = isNumeric ? ["descending", "ascending"] : ["ascending", "descending"];
  return before === first ? second : first;
};

const sortBy = (table, head, index) => {
  const isNumeric = head.classList.contains("n");
  const order = nextOrder(head.getAttribute("aria-sort"), isNumeric);
  const keyed = [...table.tBodies[0].rows].map((row) => {
    const text = row.cells[index].textContent;
    return { row, key: isNumeric ? numberOf(text) : text || null };
  });
  keyed.sort((a, b) => compare(a.key, b.key, order === "ascending" ? 1 : -1));
  table.tBodies[0].append(...keyed.map((entry) => entry.row));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
};

const makeSortable = (table) => {
  [...table.tHead.rows[0].cells].forEach((head, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.title = head.title; // what it means; to a screen reader, too
    button.addEventListener("click", () => sortBy(table, head, index));
    head.append(button);
  });
};

module.exports = { compare, makeSortable, nextOrder, numberOf };
