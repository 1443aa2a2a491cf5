"use strict";
// Everything of the project comes from the JSON block and is put in place as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const words = data.words;
  const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const PAGE = 100;
  const PRINTED = 1000;
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
  const actors = ["manual", "review", "migrated", "note"];
  const severities = ["error", "warning", "info"];
  const text = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const place = (a, b) => text(a.file, b.file) || a.line - b.line;
  const orders = {
    status: (a, b) => actors.indexOf(a.status) - actors.indexOf(b.status),
    severity: (a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity),
    code: (a, b) => text(a.code, b.code),
    place,
    message: (a, b) => text(a.message, b.message),
  };
  let matching = [];
  let shown = 0;
  let sorted = "status";
  let backwards = false;

  function row(one) {
    const file = one.file.length > LONGEST ? "…" + one.file.slice(1 - LONGEST) : one.file;
    const opener = element("button", "place", element("bdi", "", file + ":" + one.line));
    opener.type = "button";
    opener.ariaExpanded = "false";
    const line = element("tr", "row",
      element("td", "", element("span", "chip " + one.status, words[one.status])),
      element("td", "dim", words[one.severity]),
      element("td", "", element("code", "", one.code)),
      element("td", "", opener),
      element("td", "", prose(one.message)));
    line.addEventListener("click", () => {
      // Text that is being selected, to be copied, is no click.
      if (!getSelection().isCollapsed) return;
      const next = line.nextElementSibling;
      const open = Boolean(next && next.classList.contains("detail"));
      if (open) next.remove();
      else line.after(detail(one));
      opener.ariaExpanded = String(!open);
    });
    return line;
  }

  function detail(one) {
    const cell = element("td", "");
    cell.colSpan = 5;
    if (one.lines.length) cell.append(element("div", "code", ...one.lines.map((line) => codeLine(...line))));
    if (one.advice) cell.append(element("p", "", "→ ", prose(one.advice)));
    const known = one.evidence ? filled(one.source ? words.source : words.known, one) + ". " : "";
    const about = element("p", "dim", known + one.name + " (" + one.area + ") ");
    if (one.documentation) {
      const link = element("a", "", one.code);
      link.href = one.documentation;
      link.rel = "noreferrer";
      about.append(link);
    }
    cell.append(about);
    return element("tr", "detail", cell);
  }

  function more() {
    const made = matching.slice(shown, shown + PAGE).map(row);
    body.append(...made);
    shown = Math.min(shown + PAGE, matching.length);
    byId("more").hidden = shown >= matching.length;
    byId("more").textContent = filled(words.more, { left: matching.length - shown });
    return made;
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
      matching.length === data.rows.length ? String(matching.length)
        : filled(words.of, { matching: matching.length, all: data.rows.length });
    for (const one of document.querySelectorAll("[data-kind]")) {
      one.ariaPressed = String(wanted[one.dataset.kind] === one.dataset.value);
    }
    body.replaceChildren();
    shown = 0;
    if (matching.length) more();
    else {
      const nothing = element("td", "dim", words.nothing);
      nothing.colSpan = 5;
      body.append(element("tr", "", nothing));
      byId("more").hidden = true;
    }
  }

  function sort() {
    const order = orders[sorted];
    data.rows.sort((a, b) => (backwards ? -order(a, b) : order(a, b)) || orders.severity(a, b) || place(a, b));
    for (const one of document.querySelectorAll("[data-sort]")) {
      one.parentElement.ariaSort = one.dataset.sort !== sorted ? null : backwards ? "descending" : "ascending";
    }
    filter();
  }

  if (body) {
    for (const one of data.rows) {
      one.sought = [one.file, one.code, one.name, one.message, one.area].join(" ").toLowerCase();
    }
    for (const name of [...new Set(data.rows.map((one) => one.file))].sort()) {
      const option = element("option", "", name.length > 60 ? "…" + name.slice(-59) : name);
      option.value = name;
      byId("file").append(option);
    }
    for (const id of controls) byId(id).addEventListener("input", filter);
    byId("more").addEventListener("click", () => more()[0].querySelector("button").focus());
    byId("clear").addEventListener("click", () => {
      for (const id of controls) byId(id).value = "";
      filter();
    });
    for (const one of document.querySelectorAll("[data-kind]")) {
      one.addEventListener("click", () => {
        const chosen = one.ariaPressed === "true" ? "" : one.dataset.value;
        for (const id of controls) byId(id).value = id === one.dataset.kind ? chosen : "";
        filter();
        const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
        if (chosen) byId("findings").scrollIntoView({ behavior: still ? "auto" : "smooth" });
      });
    }
    for (const one of document.querySelectorAll("[data-sort]")) {
      one.addEventListener("click", () => {
        backwards = sorted === one.dataset.sort && !backwards;
        sorted = one.dataset.sort;
        sort();
      });
    }
    addEventListener("beforeprint", () => {
      while (shown < matching.length && shown < PRINTED) more();
    });
    sort();
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
    const all = byId("open-all");
    const say = () => { all.textContent = [...holder.children].every((made) => made.open) ? words.close : words.open; };
    holder.addEventListener("toggle", say, true);
    if (data.diffs.length <= 3) for (const made of holder.children) made.open = true;
    all.addEventListener("click", () => {
      const open = all.textContent === words.open;
      for (const made of holder.children) made.open = open;
    });
    say();
  }
})();
