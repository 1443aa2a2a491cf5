// A project under review: the verdict, its findings, its files, what was left alone, and writing it.
import { ask, events } from "./api.js";
import { doing, errorText, explained, fill, h, hideTip, named, save, say } from "./dom.js";
import { flag, path } from "./fields.js";
import { filePage } from "./file.js";
import { LongList } from "./list.js";
import { chosen } from "./start.js";
import { spoken, t } from "./words.js";

const WHO = ["migrated", "review", "manual", "note"];
const TABS = ["overview", "findings", "files", "ledger", "write"];
const filters = { q: "", who: "", state: "", area: "", code: "", file: "" };
/** Where one was in the list of findings, by review: undo, and a look at a file, lead back there. */
const places = new Map();
const explanations = new Map();

export async function reviewPage(page, id, tab, rest) {
  await inOurLanguage(page, id);
  const body = h("section", { class: "tab", "aria-label": t(`tab.${tab}`) });
  const undo = h("button", { type: "button", id: "undo", onclick: doing(() => back("undo")) }, `↶ ${t("undo")}`);
  const redo = h("button", { type: "button", id: "redo", onclick: doing(() => back("redo")) }, `↷ ${t("redo")}`);
  const stand = (told) => { undo.disabled = !told.undo; redo.disabled = !told.redo; };
  const back = async (name) => {
    await ask(name, { id });
    say(t(`${name}.done`));
    await draw();
  };
  const parts = { overview, findings, files, ledger, write, file: filePage };
  const draw = () => parts[tab](body, { id, rest, stand, redraw: draw, explain: (element, item) => explain(element, item, id) });
  fill(page,
    h("nav", { class: "tabs", "aria-label": t("review") },
      TABS.map((one) => h("a", { href: `#/review/${id}/${one}`, "aria-current": one === tab || (one === "files" && tab === "file") ? "page" : null }, t(`tab.${one}`))),
      h("span", { class: "space" }), undo, redo),
    body);
  fill(body, h("p", { class: "dim" }, t("loading")));
  await draw();
}

/** What was found is told in the language of the page, which may have been another when the project was opened. */
async function inOurLanguage(page, id) {
  try {
    if (!(await ask("speak", { id })).again) return;
  } catch (error) {
    if (!error.told) throw error;
    say(errorText(error), true);
    return;
  }
  clear();
  const words = h("p", { class: "dim", role: "status" }, t("language.again"));
  fill(page, words);
  await events("progress", { id }, (now) => {
    if (now.total) words.textContent = t(now.phase === "reading" ? "progress.read" : "progress.files", { done: now.done, total: now.total });
  });
}

function explain(element, item, id) {
  return explained(element, async () => {
    // A plain word, such as a back end, is known as a package as well: the rule says what is meant.
    for (const what of [/[.:]/.test(item.subject) ? item.subject : "", item.code].filter(Boolean)) {
      const key = `${spoken()} ${what}`;
      if (!explanations.has(key)) {
        try {
          explanations.set(key, await ask("explain", { id, what }));
        } catch {
          explanations.set(key, null);
        }
      }
      const found = explanations.get(key);
      if (found) {
        const releases = found.releases.map((one) => `torch_npu ${one.torch_npu}: ${one.name || "–"} ${one.note}`.trim());
        return [found.title, ...found.text, ...releases, found.source && t("source.of", { source: found.source })].filter(Boolean).join("\n");
      }
    }
    return "";
  });
}

// --- overview ---

async function overview(body, { id, stand }) {
  const [told, found] = await Promise.all([ask("summary", { id }), ask("items", { id })]);
  stand(told);
  const number = (who) => h("a", { class: `tile w-${who}`, href: `#/review/${id}/findings`, onclick: () => { clear(); filters.who = who; } },
    h("b", {}, told.counts[who]), h("span", {}, t(`who.${who}`)));
  const kinds = (title, list) => list.length > 0 && h("section", { class: "card" }, h("h2", {}, title),
    h("ul", { class: "plain" }, list.map((one) => h("li", {}, h("p", {}, h("b", {}, one.what), " ",
      h("span", { class: "dim" }, one.places.join(", "), one.more ? ` ${t("more", { count: one.more })}` : "")),
    h("p", { class: "dim" }, one.why), one.advice && h("p", {}, `→ ${one.advice}`)))));
  fill(body,
    h("section", { class: `card hero l-${told.level}` }, h("p", { class: "dim" }, named(told.root)), h("h1", {}, told.title), h("p", {}, told.summary),
      h("p", { class: "dim" }, told.estimate.text, " · ", `torch_npu ${told.release.torch_npu}, torch ${told.release.torch}`, told.tensorflow && ` · ${told.tensorflow}`, ` · ${t("style")} ${told.style}`),
      h("p", { class: "dim" }, t("overview.now", { changes: told.changes, files: told.changed, left: told.left }))),
    h("section", { class: "tiles", "aria-label": t("overview.who") }, WHO.map(number)),
    kinds(t("overview.blockers"), told.blockers), kinds(t("overview.deciding"), told.deciding),
    h("div", { class: "two" },
      chart(t("overview.areas"), found.areas, (one) => { clear(); filters.area = one.label; location.hash = `#/review/${id}/findings`; }),
      chart(t("overview.files"), found.byfile.slice(0, 16), (one) => { clear(); filters.q = one.label; location.hash = `#/review/${id}/findings`; })),
    told.estimate.parts.length > 0 && h("section", { class: "card" }, h("h2", {}, t("overview.effort")), h("p", { class: "dim" }, t("overview.effort.what")),
      h("table", {}, h("tbody", {}, told.estimate.parts.map((one) => h("tr", {}, h("td", {}, one.name), h("td", {}, `${one.low.toFixed(1)}–${one.high.toFixed(1)} h`), h("td", { class: "dim" }, one.basis)))))),
    told.programs.length > 0 && h("section", { class: "card" }, h("h2", {}, t("overview.programs")),
      h("ul", { class: "plain" }, told.programs.map((one) => h("li", {}, h("p", {}, h("b", {}, one.title), " ", h("code", {}, named(one.file))), h("p", { class: "dim" }, one.summary))))),
    told.errors.length > 0 && h("section", { class: "card" }, h("h2", {}, t("overview.errors")),
      h("ul", { class: "plain", id: "errors" }, told.errors.map((one) => h("li", {}, h("code", {}, named(`${one.file}${one.line ? `:${one.line}` : ""}`)), " ", one.message, one.advice && h("span", { class: "dim" }, ` → ${one.advice}`))))),
    h("section", { class: "card" }, h("h2", {}, t("overview.reports")), h("p", { class: "line" },
      ["html", "markdown", "json", "sarif"].map((format) => h("button", { type: "button", onclick: doing(async () => {
        const { text } = await ask("report", { id, format });
        save(`npuify-report.${{ markdown: "md" }[format] || format}`, text);
      }) }, format)))));
}

function chart(title, rows, chosenRow) {
  const most = Math.max(1, ...rows.map((one) => one.all));
  return h("section", { class: "card" }, h("h2", {}, title), h("ul", { class: "chart" }, rows.map((one) => {
    const told = WHO.filter((who) => one.counts[who]).map((who) => `${one.counts[who]} ${t(`who.${who}`)}`).join(", ");
    const bar = h("span", { class: "bar", "aria-hidden": "true" }, WHO.filter((who) => one.counts[who]).map((who) => {
      const part = h("i", { class: `w-${who}` });
      part.style.width = `${(100 * one.counts[who]) / most}%`;
      return part;
    }));
    return h("li", {}, h("button", { type: "button", class: "row", onclick: () => chosenRow(one), "aria-label": `${one.label}: ${told}` },
      h("span", { class: "label" }, named(one.label)), bar, h("span", { class: "n" }, one.all)));
  })));
}

// --- findings ---

export function clear() {
  for (const key of Object.keys(filters)) filters[key] = "";
}

async function findings(body, { id, stand, explain: explains }) {
  let told = await ask("items", { id });
  stand(told);
  let shown = [];
  const detail = h("div", { class: "detail card", id: "detail" }, h("p", { class: "dim" }, t("findings.choose")));
  const count = h("span", { role: "status", id: "count" });
  const file = (item) => told.files[item.file];
  const draw = (index) => {
    const item = shown[index];
    return [h("span", { class: `mark s-${item.state} w-${item.who}` }, t(`state.${item.state}`)),
      h("span", { class: "where" }, h("code", {}, named(`${file(item).shown}:${item.line}`)), " ", h("b", {}, item.code)),
      h("span", { class: "what" }, item.message)];
  };
  const list = new LongList(t("tab.findings"), 56, draw, (index) => show(shown[index]));
  const same = (item) => (one) => one.id === item.id && file(one).file === item.place;
  const again = async (item) => {
    told = await ask("items", { id });
    stand(told);
    filter(true);
    const now = told.items.find(same({ id: item.id, place: file(item).file }));
    if (now) show(now);
  };
  const decide = (item, made) => doing(async () => {
    await ask("decide", { id, file: file(item).file, ids: [item.id], made });
    say(t(made === null ? "decided.back" : made ? "decided.accepted" : "decided.refused"));
    await again(item);
  });
  const rule = (item, made) => doing(async () => {
    await ask("rule", { id, code: item.code, made });
    say(t(made === null ? "decided.back" : made ? "decided.accepted" : "decided.refused"));
    await again(item);
  });
  const show = (item) => {
    places.set(id, { id: item.id, place: file(item).file });
    fill(detail, ...details(item));
  };
  const details = (item) => [
    h("h2", {}, explains(h("button", { type: "button", class: "link", id: "explain" }, item.code), item), ` ${item.name.replaceAll("-", " ")}`),
    h("p", {}, h("a", { href: address(id, file(item).file, item.line) }, h("code", {}, named(`${file(item).shown}:${item.line}`)))),
    h("p", {}, item.message), item.advice && h("p", {}, `→ ${item.advice}`),
    (item.before || item.after) && h("pre", {}, item.before && h("del", {}, item.before), "\n", item.after && h("ins", {}, item.after)),
    h("p", { class: "dim" }, `${t(`severity.${item.severity}`)} · ${t(`safety.${item.safety}`)} · ${t("evidence")}: ${t(`evidence.${item.evidence}`)}`, item.source && ` · ${item.source}`),
    item.state !== "none" && deciding(item, (made) => decide(item, made)),
    item.state !== "none" && h("p", { class: "line" }, h("span", {}, t("rule.all", { code: item.code })),
      h("button", { type: "button", id: "rule-accept", "aria-pressed": told.rules[item.code] === true, onclick: rule(item, true) }, t("accept")),
      h("button", { type: "button", id: "rule-refuse", "aria-pressed": told.rules[item.code] === false, onclick: rule(item, false) }, t("refuse")),
      item.code in told.rules && h("button", { type: "button", onclick: rule(item, null) }, t("take.back")))];
  const filter = (keep = false) => {
    const q = filters.q.toLowerCase();
    shown = told.items.filter((item) => (!filters.who || item.who === filters.who) && (!filters.state || item.state === filters.state)
      && (!filters.area || item.area === filters.area) && (!filters.code || item.code === filters.code)
      && (!filters.file || file(item).file === filters.file)
      && (!q || `${file(item).shown}:${item.line} ${item.code} ${item.name} ${item.message} ${item.subject}`.toLowerCase().includes(q)));
    count.textContent = t("findings.count", { shown: shown.length, all: told.items.length });
    list.set(shown.length, keep ? list.current : -1);
    if (!keep) list.element.scrollTop = 0;
  };
  const select = (name, options, title) => {
    const made = h("select", { "aria-label": title, id: `filter-${name}`, onchange: (e) => { filters[name] = e.target.value; filter(); } },
      h("option", { value: "" }, t("filter.any", { title })), options.map(([value, label]) => h("option", { value }, label)));
    made.value = filters[name];
    return made;
  };
  const codes = [...new Set(told.items.map((one) => one.code))].sort();
  const areas = [...new Set(told.items.map((one) => one.area))].sort();
  const search = h("input", { type: "search", id: "filter-q", value: filters.q, placeholder: t("search"), "aria-label": t("search"), oninput: (e) => { filters.q = e.target.value; filter(); } });
  fill(body,
    h("div", { class: "line filters" }, search,
      select("who", WHO.map((one) => [one, t(`who.${one}`)]), t("filter.who")),
      select("state", ["made", "offered", "refused", "covered", "none"].map((one) => [one, t(`state.${one}`)]), t("filter.state")),
      select("code", codes.map((one) => [one, one]), t("filter.code")),
      select("area", areas.map((one) => [one, one]), t("filter.area")),
      h("button", { type: "button", onclick: () => { clear(); findings(body, { id, stand, explain: explains }); } }, t("clear")), count),
    h("div", { class: "beside" }, list.element, detail));
  filter();
  const before = places.has(id) ? shown.findIndex(same(places.get(id))) : -1;
  if (before >= 0) list.go(before);
  hideTip();
}

export function deciding(item, act) {
  const accepted = item.state === "made" || item.state === "covered";
  return h("p", { class: "line decide" },
    h("span", { class: `mark s-${item.state}` }, t(`state.${item.state}`)),
    h("button", { type: "button", class: "accept", "aria-pressed": accepted, onclick: act(true) }, `✓ ${t("accept")}`),
    h("button", { type: "button", class: "refuse", "aria-pressed": item.state === "refused", onclick: act(false) }, `✕ ${t("refuse")}`));
}

export const address = (id, file, line = 0) => `#/review/${id}/file/${line}/${encodeName(file)}`;

/** A file's name for the address: it may hold what is no text, which encodeURIComponent refuses. */
const encodeName = (name) => [...Array(name.length).keys()].map((at) => name.charCodeAt(at).toString(16)).join("-");
export const decodeName = (text) => String.fromCharCode(...text.split("-").map((one) => parseInt(one, 16)));

// --- files ---

async function files(body, { id, stand }) {
  const told = await ask("tree", { id });
  stand(told);
  const root = { folders: new Map(), files: [], items: 0, changed: 0 };
  for (const one of told.files) {
    let at = root;
    const parts = one.file.split("/");
    const shownParts = one.shown.split("/");
    parts.slice(0, -1).forEach((part, index) => {
      if (!at.folders.has(part)) at.folders.set(part, { folders: new Map(), files: [], items: 0, changed: 0, shown: shownParts[index] ?? part });
      at = at.folders.get(part);
      at.items += one.items;
      at.changed += one.changed ? 1 : 0;
    });
    at.files.push({ ...one, name: shownParts[shownParts.length - 1] });
  }
  const only = { changed: true };
  const place = h("div", { class: "card tree" });
  const draw = () => fill(place, level(root, 0));
  const level = (folder, depth) => h("ul", { class: "plain" },
    [...folder.folders.values()].filter((one) => !only.changed || one.items || one.changed).map((one) => {
      const inside = h("div", {});
      const made = h("details", { open: depth < 1, ontoggle: () => { if (made.open && !inside.firstChild) inside.append(level(one, depth + 1)); } },
        h("summary", {}, named(one.shown), h("small", { class: "dim" }, ` ${t("files.items", { count: one.items })}`)), inside);
      if (depth < 1) inside.append(level(one, depth + 1));
      return h("li", {}, made);
    }),
    folder.files.filter((one) => !only.changed || one.items || one.changed).map((one) => h("li", {},
      h("a", { href: address(id, one.file) }, named(one.name)), h("small", { class: "dim" }, ` ${one.changed ? `● ${t("files.changed")} ` : ""}${one.items ? t("files.items", { count: one.items }) : ""}`))));
  fill(body, h("div", { class: "line" }, flag(t("files.only"), true, (on) => { only.changed = on; draw(); })), place);
  draw();
}

// --- the ledger ---

async function ledger(body, { id, stand }) {
  const told = await ask("ledger", { id });
  stand(told);
  fill(body, h("section", { class: "card" }, h("h1", {}, t("tab.ledger")), h("p", { class: "dim" }, t("ledger.what")), h("p", {}, told.words || t("ledger.none")),
    told.reasons.map((one) => h("details", {}, h("summary", {}, h("b", {}, one.title)), h("p", { class: "dim" }, one.text),
      h("ul", { class: "plain" }, one.places.map((place) => h("li", {}, h("a", { href: address(id, place.file, place.line) }, named(`${place.shown}:${place.line}`)), " ", h("code", {}, place.word), place.because && h("small", { class: "dim" }, ` ${place.because}`)))),
      one.count > one.places.length && h("p", { class: "dim" }, t("more", { count: one.count - one.places.length }))))));
}

// --- writing ---

async function write(body, { id, stand }) {
  const told = await ask("summary", { id });
  stand(told);
  let mode = "copy";
  let force = false;
  let patch = "";
  const answer = h("div", { role: "status", id: "written" });
  const where = h("div", {});
  const target = () => {
    if (mode === "copy") fill(where, path(t("write.folder"), chosen.destination, (value) => { chosen.destination = value; }, { help: t("write.folder.help") }));
    else if (mode === "diff") fill(where, path(t("write.patch"), patch, (value) => { patch = value; }, { help: t("write.patch.help") }));
    else fill(where, h("p", { class: "bad" }, t("write.in-place.help")));
  };
  const radio = (name) => h("label", { class: "radio" }, h("input", { type: "radio", name: "mode", value: name, checked: name === mode, onchange: () => { mode = name; target(); } }), " ", t(`write.${name}`));
  const act = doing(async (event) => {
    event.preventDefault();
    if (mode === "in-place" && !confirm(t("write.in-place.sure"))) return;
    fill(answer, h("p", {}, t("write.writing")));
    try {
      const done = await ask("write", { id, mode, path: mode === "copy" ? chosen.destination : mode === "diff" ? patch : "", force });
      fill(answer, h("p", { class: "good" }, t("write.done", { path: done.destination, files: done.changed, left: done.left })),
        h("p", { class: "dim" }, t("write.next")));
    } catch (error) {
      fill(answer);
      throw error;
    }
  });
  fill(body, h("form", { class: "card", onsubmit: act }, h("h1", {}, t("tab.write")),
    h("p", {}, t("overview.now", { changes: told.changes, files: told.changed, left: told.left })),
    h("fieldset", {}, h("legend", {}, t("write.how")), ["copy", "diff", "in-place"].map(radio)), where,
    flag(t("write.force"), false, (on) => { force = on; }, t("write.force.help")),
    h("p", { class: "line" }, h("button", { class: "main", id: "write" }, t("write.write")),
      h("button", { type: "button", id: "download", onclick: doing(async () => save("npuify.patch", (await ask("report", { id, format: "diff" })).text)) }, t("write.download"))), answer));
  target();
}
