// The first page: choose a project and how it is migrated.
import { ask, events } from "./api.js";
import { doing, errorText, fill, h, named, say } from "./dom.js";
import { choice, flag, path, text } from "./fields.js";
import { t } from "./words.js";

export const chosen = { path: "", destination: "", options: {} };

export async function startPage(page) {
  const known = await ask("start");
  if (!chosen.path) chosen.path = known.start || known.recent[0] || known.folder;
  const set = (name) => (value) => {
    if (value === "" || value === false || value === null) delete chosen.options[name];
    else chosen.options[name] = value;
  };
  const list = (name) => (value) => set(name)(value.trim() ? value.split(/[\s,]+/).filter(Boolean) : "");
  const said = (name) => chosen.options[name] ?? "";
  const saidList = (name) => (chosen.options[name] ?? []).join(" ");
  const option = (kind, name, ...more) => kind(t(`option.${name}`), said(name), set(name), ...more);
  const toggle = (name) => flag(t(`option.${name}`), Boolean(said(name)), set(name), t(`option.${name}.help`));
  const many = (name, help) => text(t(`option.${name}`), saidList(name), list(name), { help: t(help) });

  const progress = h("div", { class: "progress", hidden: true });
  const start = h("button", { class: "main" }, t("start.scan"));
  const form = h("form", {
    class: "card",
    onsubmit: doing(async (event) => {
      event.preventDefault();
      start.disabled = true;
      try {
        const { id } = await ask("open", { path: chosen.path, options: chosen.options });
        await opening(progress, id);
      } finally {
        start.disabled = false;
      }
    }),
  },
    h("h1", {}, t("start.title")),
    h("p", { class: "dim" }, t("start.what")),
    path(t("start.input"), chosen.path, (value) => { chosen.path = value; }, { help: t("start.input.help") }),
    path(t("start.output"), chosen.destination, (value) => { chosen.destination = value; }, { help: t("start.output.help") }),
    h("details", { id: "vendor" }, h("summary", {}, t("start.vendor")),
      h("div", { class: "grid" },
        option(choice, "torch_npu", [["", t("option.release.own")], ...known.releases.map((one) => [one, `torch_npu ${one}`])], t("option.torch_npu.help")),
        path(t("option.rules"), saidList("rules"), list("rules"), { files: true, endings: [".toml", ".json"], help: t("option.rules.help") }),
        toggle("replace_unsupported"),
        path(t("option.vendor_reports"), said("vendor_reports"), set("vendor_reports"), { help: t("option.vendor_reports.help") }),
        h("p", {}, h("b", {}, t("option.distributed")), " ", t("option.distributed.help"), " ", h("a", { href: "#/tool/distribute" }, t("tool.distribute"))),
        h("p", {}, h("b", {}, t("option.amp")), " ", t("option.amp.help"))),
      h("p", {}, h("a", { href: "#/rules" }, t("rules.title")))),
    h("details", { id: "ours" }, h("summary", {}, t("start.ours")),
      h("div", { class: "grid" },
        option(choice, "style", known.styles.map((one) => [one, t(`style.${one}`)])),
        option(choice, "soc", [["", t("option.soc.any")], ...known.chips.map((one) => [one.name, `${one.name}: ${one.title}`])]),
        toggle("unsafe"), toggle("place_on_npu"), toggle("cpu_fallback"), toggle("replace_kernels"), toggle("normalize_newlines"),
        flag(t("option.device_default"), said("device_default") === "npu", (on) => set("device_default")(on ? "npu" : ""), t("option.device_default.help")),
        many("select", "option.codes.help"), many("ignore", "option.codes.help"), many("exclude", "option.exclude.help"),
        option(choice, "tf_adapter", [["", t("option.release.own")], ["1.15", "1.15"], ["2.6.5", "2.6.5"]]),
        option(text, "target_vllm"),
        path(t("option.third_party"), saidList("third_party"), list("third_party"), { help: t("option.third_party.help") }),
        path(t("option.from_trace"), said("from_trace"), set("from_trace"), { files: true, endings: [".json", ".jsonl"], help: t("option.from_trace.help") }))),
    h("p", { class: "line" }, start), progress);
  fill(page, form, recents(known, form));
}

function recents(known, form) {
  const row = (one, more, act) => h("li", {}, h("button", { type: "button", class: "link", onclick: act }, named(one)), more);
  return h("section", { class: "card" },
    h("h2", {}, t("start.open")),
    known.open.length ? h("ul", { class: "plain" }, known.open.map((one) => h("li", { class: "line" },
      h("a", { href: `#/review/${one.id}/overview` }, named(one.path)), h("small", { class: "dim" }, t(`state.${one.state}`)),
      h("button", { type: "button", onclick: doing(async (event) => {
        if (!confirm(t("start.close.sure"))) return;
        await ask("close", { id: one.id });
        event.target.closest("li").remove();
      }) }, t("close"))))) : h("p", { class: "dim" }, t("start.open.none")),
    h("h2", {}, t("start.recent")),
    known.recent.length ? h("ul", { class: "plain" }, known.recent.map((one) => row(one, null, () => {
      chosen.path = one;
      form.querySelector("input").value = one;
      form.querySelector("input").focus();
    }))) : h("p", { class: "dim" }, t("start.recent.none")));
}

/** Show how the opening of a project goes, and go there once it is ready. */
async function opening(place, id) {
  const bar = h("progress", { "aria-label": t("progress.label") });
  const words = h("p", {}, t("progress.reading"));
  const stop = h("button", { type: "button", id: "cancel", onclick: doing(() => ask("cancel", { id })) }, t("cancel"));
  place.hidden = false;
  fill(place, words, bar, stop);
  stop.focus();
  let last = {};
  await events("progress", { id }, (now) => {
    last = now;
    if (!now.total) return;
    bar.max = now.total;
    bar.value = now.done;
    const going = now.phase === "reading" ? "progress.read" : now.done < now.total ? "progress.files" : "progress.judging";
    words.textContent = t(going, { done: now.done, total: now.total });
  });
  if (last.state === "ready") {
    location.hash = `#/review/${id}/overview`;
    return;
  }
  const told = last.state === "cancelled" ? t("progress.cancelled") : errorText({ ...last, message: last.error });
  fill(place, h("p", { class: last.state === "failed" ? "bad" : "", role: "alert" }, told));
  say(told, last.state === "failed");
}

export async function rulesPage(page) {
  const example = '[[fact]]\nname = "apex.amp.initialize"\nseverity = "error"\nmessage = "Ours is in tools/amp.py."\n';
  const area = h("textarea", { rows: 16, spellcheck: "false", "aria-label": t("rules.text"), value: localStorage.getItem("npuify-rules") ?? example });
  const answer = h("div", { role: "status" });
  let project = chosen.path;
  let format = "toml";
  const check = doing(async () => {
    localStorage.setItem("npuify-rules", area.value);
    try {
      const found = await ask("rules", { text: area.value, path: project, format });
      fill(answer, h("p", { class: "good" }, t("rules.read", { count: found.rules, places: found.total })),
        h("ul", { class: "plain" }, found.places.map((one) => h("li", {}, h("code", {}, named(`${one.file}:${one.line}`)), " ", one.message,
          one.after !== "" || one.before !== "" ? h("span", {}, " ", h("del", {}, one.before), " → ", h("ins", {}, one.after)) : null))));
    } catch (error) {
      fill(answer, h("p", { class: "bad" }, errorText(error)));
      if (!error.told) throw error;
    }
  });
  fill(page, h("section", { class: "card" }, h("h1", {}, t("rules.title")), h("p", { class: "dim" }, t("rules.what")),
    choice(t("rules.format"), "toml", (value) => { format = value; }, [["toml", "TOML"], ["json", t("rules.json")]]),
    path(t("rules.project"), project, (value) => { project = value; }),
    area, h("p", { class: "line" }, h("button", { type: "button", class: "main", onclick: check }, t("rules.check"))), answer));
}


