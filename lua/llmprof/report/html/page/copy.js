// Tables as CSV and as Markdown, as they are sorted and filtered, with names in full.
"use strict";

// What was cut off is the title of what is shown.
const textOf = (cell) => {
  const cut = cell.querySelector("span[title]");
  const text = cell.textContent.trim();
  return cut && cut.title.length > text.length ? cut.title : text;
};

const gridOf = (table) => [table.tHead.rows[0], ...table.tBodies[0].rows].filter((row) => !row.hidden)
  .map((row) => [...row.cells].map(textOf));

// Numbers without the commas between their thousands.
const isNumber = (text) => /^-?\d{1,3}(,\d{3})*(\.\d+)?$/.test(text);

const csvCell = (text) => {
  if (isNumber(text)) return text.replaceAll(",", "");
  // a spreadsheet takes what begins so for a formula
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll("\"", "\"\"")}"` : safe;
};

const csv = (grid) => grid.map((row) => `${row.map(csvCell).join(",")}\n`).join("");

// numeric: which columns are numbers.
const markdown = ([head, ...rows], numeric) => {
  const line = (cells) => `| ${cells.join(" | ")} |\n`;
  const escaped = (row) => row.map((text) => text.replace(/[\\|<>*_`[\]]/g, "\\$&").replace(/\s+/g, " "));
  return line(escaped(head)) + line(numeric.map((is) => (is ? "---:" : "---")))
    + rows.map((row) => line(escaped(row))).join("");
};

const put = async (text) => {
  if (!navigator.clipboard) throw new Error("this browser has no clipboard for a file");
  await navigator.clipboard.writeText(text);
};

const makeCopies = (holder, table) => {
  const tools = document.createElement("div");
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  tools.className = "copies note";
  tools.append("Copy as ");
  const numeric = () => [...table.tHead.rows[0].cells].map((head) => head.classList.contains("n"));
  for (const [name, write] of [["CSV", csv], ["Markdown", markdown]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.setAttribute("aria-label", `Copy ${holder.dataset.title} as ${name}`);
    button.addEventListener("click", () => {
      const grid = gridOf(table);
      put(write(grid, numeric())).then(() => { said.textContent = `${grid.length - 1} rows copied`; })
        .catch((error) => { said.textContent = `Not copied: ${error.message}`; });
    });
    tools.append(button);
  }
  tools.append(said);
  holder.append(tools);
};

module.exports = { csv, makeCopies, markdown };
