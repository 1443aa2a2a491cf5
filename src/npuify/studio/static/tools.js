// Pages of the other commands: a form, the command that it makes, and what that writes.
import { ask, events } from "./api.js";
import { doing, errorText, fill, h, say } from "./dom.js";
import { choice, drop, flag, path, text } from "./fields.js";
import { chosen } from "./start.js";
import { t, tOr } from "./words.js";

export async function toolPage(page, name) {
  const { tools } = await ask("start");
  const tool = tools.find((one) => one.name === name);
  if (!tool) {
    fill(page, h("p", { class: "bad" }, t("no.page")));
    return;
  }
  const values = {};
  const shown = h("code", { class: "command", id: "command" });
  const output = h("pre", { class: "output", id: "output", tabindex: "0", "aria-label": t("tool.output") });
  const ended = h("p", { role: "status", id: "ended" });
  const start = h("button", { class: "main", id: "run" }, t(tool.runs ? "tool.run" : "tool.start"));
  const stop = h("button", { type: "button", id: "stop", disabled: true }, t("tool.stop"));
  let turn = 0;
  let stopping = null;

  const run = async () => {
    turn += 1;
    const mine = turn;
    stopping?.abort();
    const control = new AbortController();
    stopping = control;
    const { id } = await ask("run", { tool: name, values });
    stop.onclick = doing(() => ask("stop", { id }));
    stop.disabled = false;
    fill(output);
    ended.textContent = t("tool.running");
    try {
      await events("output", { id }, (event) => {
        if (mine !== turn) return;
        const below = output.scrollHeight - output.scrollTop - output.clientHeight < 40;
        output.append(event.text);
        if (below && !tool.live) output.scrollTop = output.scrollHeight;
        if (event.code !== null) {
          ended.textContent = t("tool.ended", { code: event.code });
          stop.disabled = true;
        }
      }, control.signal);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  };
  let delay = 0;
  const changed = () => {
    clearTimeout(delay);
    delay = setTimeout(doing(async () => {
      try {
        const told = await ask("command", { tool: name, values });
        shown.textContent = `npuify ${told.arguments.map(quoted).join(" ")}`;
      } catch (error) {
        shown.textContent = errorText(error);
        return;
      }
      if (tool.live && !values.output) await run();
    }), 300);
  };
  const set = (key) => (value) => { values[key] = value; changed(); };
  const control = (field) => {
    const label = tOr(`field.${field.name}`, field.name.replaceAll("_", " ")) + (field.needed ? " *" : "");
    const help = tOr(`field.${name}.${field.name}.help`, tOr(`field.${field.name}.help`, ""));
    if (field.kind === "flag") {
      values[field.name] = Boolean(field.default);
      return flag(label, Boolean(field.default), set(field.name), help);
    }
    if (["source", "cwd"].includes(field.name)) values[field.name] = chosen.path;
    else if (field.default) values[field.name] = field.default;
    const value = values[field.name] ?? "";
    if (field.kind === "choice") return choice(label, value || field.choices[0], set(field.name), field.choices.map((one) => [one, one || t("none")]), help);
    if (field.kind === "drop") return drop(label, set(field.name), help);
    if (["folder", "cwd"].includes(field.kind)) return path(label, value, set(field.name), { help });
    return text(label, value, set(field.name), { help });
  };
  fill(page, h("section", { class: "card" }, h("h1", {}, t(`tool.${name}`)), h("p", { class: "dim" }, t(`tool.${name}.what`)),
    tool.runs && h("p", { class: "bad" }, t("tool.runs")),
    h("form", { onsubmit: doing(async (event) => {
      event.preventDefault();
      if (tool.runs && !confirm(t("tool.sure"))) return;
      await run();
      say(ended.textContent);
    }) }, h("div", { class: "grid" }, tool.fields.map(control)),
    h("p", {}, shown), h("p", { class: "line" }, start, stop)), ended, output));
  changed();
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
