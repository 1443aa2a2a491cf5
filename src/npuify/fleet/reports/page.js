"use strict";
// The rows are there already, as text; this sorts and hides them.
(() => {
  const byId = (id) => document.getElementById(id);
  const body = byId("rows");
  const rows = Array.from(body.rows);
  const tiles = Array.from(document.querySelectorAll(".tile"));
  const bars = Array.from(document.querySelectorAll("button[data-decision]"));
  let decision = "";
  let sorted = "";
  let backwards = false;

  byId("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  });

  function filter() {
    const words = byId("q").value.toLowerCase().split(/\s+/).filter(Boolean);
    const level = byId("level").value;
    let count = 0;
    for (const row of rows) {
      const fits = (!level || row.dataset.level === level)
        && (!decision || row.dataset.waits.split(" ").includes(decision))
        && words.every((word) => row.dataset.words.includes(word));
      row.hidden = !fits;
      if (fits) count += 1;
    }
    byId("count").textContent = count === rows.length ? String(count) : `${count} / ${rows.length}`;
    for (const tile of tiles) tile.ariaPressed = String(tile.dataset.level === level);
    for (const bar of bars) bar.ariaPressed = String(bar.dataset.decision === decision);
  }

  for (const tile of tiles) {
    tile.addEventListener("click", () => {
      const select = byId("level");
      select.value = select.value === tile.dataset.level ? "" : tile.dataset.level;
      filter();
    });
  }
  for (const bar of bars) {
    bar.addEventListener("click", () => {
      decision = decision === bar.dataset.decision ? "" : bar.dataset.decision;
      filter();
      if (decision) byId("projects").scrollIntoView();
    });
  }
  byId("q").addEventListener("input", filter);
  byId("level").addEventListener("change", filter);
  byId("clear").addEventListener("click", () => {
    byId("q").value = "";
    byId("level").value = "";
    decision = "";
    filter();
  });

  const value = {
    name: (row) => row.cells[0].querySelector("summary").textContent.toLowerCase(),
    level: (row) => Number(row.dataset.rank),
    hours: (row) => Number(row.dataset.hours),
    migrated: (row) => Number(row.dataset.migrated),
    review: (row) => Number(row.dataset.review),
    manual: (row) => Number(row.dataset.manual),
  };
  for (const button of document.querySelectorAll("button[data-sort]")) {
    button.addEventListener("click", () => {
      const key = button.dataset.sort;
      backwards = sorted === key ? !backwards : false;
      sorted = key;
      const of = value[key];
      rows.sort((a, b) => {
        const x = of(a);
        const y = of(b);
        return (x < y ? -1 : x > y ? 1 : 0) * (backwards ? -1 : 1);
      });
      body.append(...rows);
      for (const th of document.querySelectorAll("th[aria-sort]")) th.removeAttribute("aria-sort");
      button.closest("th").setAttribute("aria-sort", backwards ? "descending" : "ascending");
    });
  }
})();
