// Tables that sort and filter. Without this script they stand as they were made.
"use strict";
(() => {
  const numberOf = (cell) => {
    const text = cell.textContent.trim().replaceAll(",", "");
    return text !== "" && Number.isFinite(Number(text)) ? Number(text) : null;
  };

  // Cells without a value come last, whichever way the column is sorted.
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
  };

  const sortBy = (table, head, index) => {
    const numeric = head.classList.contains("n");
    const before = head.getAttribute("aria-sort");
    const first = numeric ? "descending" : "ascending";
    const second = numeric ? "ascending" : "descending";
    const order = before === first ? second : first;
    const keyed = [...table.tBodies[0].rows].map((row) => {
      const cell = row.cells[index];
      return { row, key: numeric ? numberOf(cell) : cell.textContent || null };
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
      button.addEventListener("click", () => sortBy(table, head, index));
      head.append(button);
    });
  };

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

  const makeFilter = (holder, table) => {
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = `Filter ${holder.dataset.title.toLowerCase()}`;
    input.setAttribute("aria-label", input.placeholder);
    const choices = ["stage", "category", "bound"].map((title) => makeChoice(table, title))
      .filter(Boolean);
    const shown = document.createElement("span");
    shown.className = "note";
    const rows = [...table.tBodies[0].rows];
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const row of rows) {
        // a shortened name is found by all of it, which the title has
        const title = row.querySelector("[title]");
        const text = `${row.textContent} ${title ? title.title : ""}`.toLowerCase();
        const fits = words.every((word) => text.includes(word)) && choices.every((choice) =>
          !choice.select.value || row.cells[choice.index].textContent === choice.select.value);
        row.hidden = !fits;
        count += fits ? 1 : 0;
      }
      shown.textContent = `${count} of ${rows.length} rows`;
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

  const clear = [];
  for (const holder of document.querySelectorAll(".table")) {
    const table = holder.querySelector("table");
    if (holder.classList.contains("filter")) clear.push(makeFilter(holder, table));
    makeSortable(table);
  }

  // What lies in something folded, or is hidden by a filter, is shown and in view.
  const reveal = (target) => {
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target.hidden) for (const each of clear) each();
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

  // Paper has no folds: the first findings in full, the titles of the others.
  const ON_PAPER = 4;
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll(
      `.chapter:not([open]), .finding:nth-of-type(-n+${ON_PAPER}):not([open])`)];
    for (const each of folded) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of folded.splice(0)) each.open = false;
  });
})();
