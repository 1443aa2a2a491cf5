// One file, before and after, with what there is to decide between the lines.
import { ask } from "./api.js";
import { doing, fill, h, named, say } from "./dom.js";
import { deciding, decodeName } from "./review.js";
import { t } from "./words.js";

const CONTEXT = 4;
const FOLDED = 12;

export async function filePage(body, { id, rest, stand, explain }) {
  const line = Number(rest[0]) || 0;
  const file = decodeName(rest[1]);
  const scrolled = { line, first: true };
  const draw = async () => {
    const told = await ask("file", { id, file });
    stand(told);
    const made = (item) => (accepted) => doing(async () => {
      await ask("decide", { id, file, ids: [item.id], made: accepted });
      say(t(accepted ? "decided.accepted" : "decided.refused"));
      await draw();
      body.querySelector(`[data-item="${CSS.escape(item.id)}"] ${accepted ? ".accept" : ".refuse"}`)?.focus();
    });
    const all = (accepted) => doing(async () => {
      const ids = told.items.filter((one) => one.state !== "none").map((one) => one.id);
      await ask("decide", { id, file, ids, made: accepted });
      say(t(accepted ? "decided.accepted" : "decided.refused"));
      await draw();
    });
    const bar = (item) => h("div", { class: `item w-${item.who} s-${item.state}`, data: { item: item.id }, tabindex: "-1" },
      h("p", {}, explain(h("button", { type: "button", class: "link" }, item.code), item), " ", item.message, item.advice && h("span", { class: "dim" }, ` → ${item.advice}`)),
      item.state !== "none" && !told.by_hand && deciding(item, made(item)));
    const editor = h("div", { hidden: true });
    fill(body,
      h("div", { class: "line" }, h("h1", { class: "file" }, named(told.shown)), h("span", { class: "space" }),
        !told.by_hand && told.items.some((one) => one.state !== "none") && [
          h("button", { type: "button", id: "accept-all", onclick: all(true) }, t("file.accept")),
          h("button", { type: "button", id: "refuse-all", onclick: all(false) }, t("file.refuse"))],
        told.text !== "" && h("button", { type: "button", id: "edit", onclick: () => edit(editor, told, id, draw) }, t("file.edit")),
        told.by_hand && h("button", { type: "button", id: "discard", onclick: doing(async () => {
          await ask("by-hand", { id, file, text: null });
          await draw();
        }) }, t("file.discard"))),
      told.by_hand && h("p", { class: "good" }, t("file.by_hand")),
      told.errors.map((one) => h("p", { class: "bad" }, one)),
      editor,
      told.why_not ? [h("p", {}, told.why_not), told.items.map(bar)] : sides(told, bar),
      h("p", { class: "dim" }, t("file.keys")));
    if (scrolled.first) {
      scrolled.first = false;
      const target = line && [...body.querySelectorAll("[data-old]")].find((one) => Number(one.dataset.old) >= line);
      (target || body).scrollIntoView({ block: target ? "center" : "start" });
    }
  };
  body.onkeydown = (event) => keys(event, body);
  await draw();
}

function keys(event, body) {
  if (["INPUT", "TEXTAREA", "SELECT"].includes(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  const found = [...body.querySelectorAll(".item")];
  const at = found.findIndex((one) => one.contains(document.activeElement));
  if (event.key === "n" || event.key === "p") {
    const next = found[event.key === "n" ? Math.min(at + 1, found.length - 1) : Math.max(at - 1, 0)];
    next?.focus();
    next?.scrollIntoView({ block: "center" });
  } else if (event.key === "a" || event.key === "r") {
    found[at]?.querySelector(event.key === "a" ? ".accept" : ".refuse")?.click();
  } else return;
  event.preventDefault();
}

function edit(place, told, id, draw) {
  const area = h("textarea", { rows: Math.min(40, told.text.split("\n").length + 2), spellcheck: "false", "aria-label": t("file.text"), value: told.text, id: "text" });
  place.hidden = false;
  fill(place, area, h("p", { class: "line" },
    h("button", { type: "button", class: "main", id: "keep", onclick: doing(async () => {
      await ask("by-hand", { id, file: told.file, text: area.value });
      say(t("file.kept"));
      await draw();
    }) }, t("file.keep")),
    h("button", { type: "button", onclick: () => { place.hidden = true; fill(place); } }, t("cancel"))));
  area.focus();
}

/** The rows, with each item before the line that it is about, and long stretches of nothing new folded. */
function sides(told, bar) {
  const at = new Map();
  const rest = [];
  const first = new Map();
  told.rows.forEach(([old], index) => { if (old) first.set(old, index); });
  for (const item of told.items) {
    let index = first.get(item.line);
    if (index === undefined) { rest.push(item); continue; }
    // What is put in before a line stands above it.
    while (index > 0 && told.rows[index][3] === null && told.rows[index - 1][0] === 0) index -= 1;
    at.set(index, [...(at.get(index) || []), item]);
  }
  const near = new Set();
  told.rows.forEach((row, index) => {
    if (row[3] !== null || at.has(index)) for (let one = index - CONTEXT; one <= index + CONTEXT; one += 1) near.add(one);
  });
  const pieces = [];
  let folded = [];
  const unfold = () => {
    if (folded.length > FOLDED) {
      const hidden = folded;
      const place = h("div", { class: "fold" }, h("button", { type: "button", class: "link", onclick: () => place.replaceWith(...hidden.map((one) => row(told.rows[one]))) }, t("file.folded", { count: hidden.length })));
      pieces.push(place);
    } else pieces.push(...folded.map((one) => row(told.rows[one])));
    folded = [];
  };
  told.rows.forEach((one, index) => {
    if (!near.has(index)) { folded.push(index); return; }
    unfold();
    if (at.has(index)) pieces.push(...at.get(index).map(bar));
    pieces.push(row(one));
  });
  unfold();
  return [rest.map(bar), h("div", { class: "sides", role: "region", "aria-label": t("file.sides") },
    h("div", { class: "row head", "aria-hidden": "true" }, h("span", {}), h("b", {}, t("file.before")), h("span", {}), h("b", {}, t("file.after"))), pieces)];
}

function row([old, now, before, after]) {
  const same = after === null;
  return h("div", { class: `row ${same ? "same" : "changed"}`, data: { old } },
    h("span", { class: "no" }, old || ""), cell("del", before, after, old, same),
    h("span", { class: "no" }, now || ""), cell("ins", same ? before : after, before, now, same));
}

/** The text of a side; of a changed line the part that differs is marked. */
function cell(kind, text, other, there, same) {
  if (same || !there) return h("code", { class: there ? "" : "none" }, there ? text : "");
  const others = other ?? "";
  let start = 0;
  while (start < text.length && start < others.length && text[start] === others[start]) start += 1;
  let end = 0;
  while (end < text.length - start && end < others.length - start && text[text.length - 1 - end] === others[others.length - 1 - end]) end += 1;
  const word = kind === "del" ? t("file.removed") : t("file.added");
  return h("code", { class: kind }, h("span", { class: "hear" }, `${word} `), text.slice(0, start), h(kind, {}, text.slice(start, text.length - end)), text.slice(text.length - end));
}
