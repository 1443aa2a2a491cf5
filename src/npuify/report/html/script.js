"use strict";
// Everything of the project comes from the JSON block and is put in place as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const words = { migrated: data.migrated ? "edited" : "edit", review: "review", manual: "by hand", note: "note" };
  const PAGE = 100;
  const LONGEST = 120;
  const byId = (id) => document.getElementById(id);

  function element(tag, className, ...children) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...children.filter((child) => child !== ""));
    return made;
  }

  function prose(text) {
    const parts = text.split("`");
    const made = element("span", "");
    if (parts.length % 2 === 0) made.append(text);
    else parts.forEach((part, at) => made.append(at % 2 ? element("code", "", part) : part));
    return made;
  }

  function codeLine(kind, number, text) {
    const style = kind === "+" ? "add" : kind === "-" ? "del" : "";
    const sign = kind === " " ? "" : kind;
    return element("div", style, element("span", "no", number ? String(number) : ""), element("span", "sign", sign),
      element("span", "", text));
  }

  // --- the theme
  const theme = byId("theme");
  theme.addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  });

  // --- the table
  const body = byId("rows");
  const controls = ["q", "status", "severity", "area", "file"];
  let matching = [];
  let shown = 0;

  function row(one) {
    const file = one.file.length > LONGEST ? "…" + one.file.slice(1 - LONGEST) : one.file;
    const place = element("code", "place", element("bdi", "", file + ":" + one.line));
    const line = element("tr", "row",
      element("td", "", element("span", "chip " + one.status, words[one.status])),
      element("td", "dim", one.severity),
      element("td", "", element("code", "", one.code)),
      element("td", "", place),
      element("td", "", prose(one.message)));
    line.tabIndex = 0;
    const toggle = () => {
      const next = line.nextElementSibling;
      if (next && next.classList.contains("detail")) next.remove();
      else line.after(detail(one));
    };
    line.addEventListener("click", toggle);
    line.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        toggle();
      }
    });
    return line;
  }

  function detail(one) {
    const cell = element("td", "");
    cell.colSpan = 5;
    if (one.lines.length) cell.append(element("div", "code", ...one.lines.map((line) => codeLine(...line))));
    if (one.advice) cell.append(element("p", "", "→ ", prose(one.advice)));
    const known = one.evidence ? "Known: " + one.evidence + (one.source ? ", " + one.source : "") + ". " : "";
    cell.append(element("p", "dim", known + one.name + " (" + one.area + ")"));
    return element("tr", "detail", cell);
  }

  function more() {
    body.append(...matching.slice(shown, shown + PAGE).map(row));
    shown = Math.min(shown + PAGE, matching.length);
    byId("more").hidden = shown >= matching.length;
    byId("more").textContent = "Show more (" + (matching.length - shown) + " left)";
  }

  function filter() {
    const wanted = Object.fromEntries(controls.map((id) => [id, byId(id).value]));
    const sought = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
    matching = data.rows.filter((one) =>
      (!wanted.status || one.status === wanted.status) &&
      (!wanted.severity || one.severity === wanted.severity) &&
      (!wanted.area || one.area === wanted.area) &&
      (!wanted.file || one.file === wanted.file) &&
      sought.every((word) => one.sought.includes(word)));
    byId("count").textContent =
      matching.length === data.rows.length ? String(matching.length) : matching.length + " of " + data.rows.length;
    body.replaceChildren();
    shown = 0;
    more();
  }

  if (body) {
    const weight = { manual: 0, review: 1, migrated: 2, note: 3 };
    for (const one of data.rows) {
      one.sought = [one.file, one.code, one.name, one.message, one.area].join(" ").toLowerCase();
    }
    data.rows.sort((a, b) => weight[a.status] - weight[b.status]);
    for (const name of [...new Set(data.rows.map((one) => one.file))].sort()) {
      const option = element("option", "", name.length > 60 ? "…" + name.slice(-59) : name);
      option.value = name;
      byId("file").append(option);
    }
    for (const id of controls) byId(id).addEventListener("input", filter);
    byId("more").addEventListener("click", more);
    byId("clear").addEventListener("click", () => {
      for (const id of controls) byId(id).value = "";
      filter();
    });
    const choose = (chosen) => {
      for (const id of controls) byId(id).value = id === chosen.dataset.kind ? chosen.dataset.value : "";
      filter();
      byId("findings").scrollIntoView({ behavior: "smooth" });
    };
    for (const one of document.querySelectorAll("[data-kind]")) {
      one.addEventListener("click", () => choose(one));
      one.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && one.tagName !== "BUTTON") choose(one);
      });
    }
    filter();
  }

  // --- the changes
  const holder = byId("diffs");
  if (holder) {
    for (const one of data.diffs) {
      const made = element("details", "",
        element("summary", "", element("code", "", element("bdi", "", one.file)),
          element("span", "plus", "+" + one.added), element("span", "minus", "−" + one.removed)));
      made.addEventListener("toggle", () => {
        if (!made.open || made.children.length > 1) return;
        const lines = element("div", "code");
        one.hunks.forEach((hunk, at) => {
          if (at) lines.append(element("div", "gap", "⋯"));
          lines.append(...hunk.map(([kind, old, now, text]) => codeLine(kind, kind === "+" ? now : old, text)));
        });
        made.append(lines);
      });
      holder.append(made);
    }
    if (data.diffs.length <= 3) for (const made of holder.children) made.open = true;
    byId("open-all").addEventListener("click", () => {
      for (const made of holder.children) made.open = true;
    });
  }
})();
