// Choose a folder (or a file of some kind) on the machine that npuify runs on.
import { ask } from "./api.js";
import { doing, errorText, fill, h, named } from "./dom.js";
import { t } from "./words.js";

export function pick(start, { endings = [], files = false } = {}) {
  return new Promise((done) => {
    const here = h("input", { class: "wide", "aria-label": t("picker.path"), spellcheck: "false" });
    const names = h("ul", { class: "names", "aria-label": t("picker.folders") });
    const problem = h("p", { class: "bad", role: "alert" });
    const finish = (path) => { box.close(); box.remove(); done(path); };
    let separator = "/";
    const join = (name) => (here.value.endsWith(separator) ? here.value + name : here.value + separator + name);
    const open = doing(async (path) => {
      problem.textContent = "";
      let found;
      try {
        found = await ask("folders", { path, endings: files ? endings : [] });
      } catch (error) {
        problem.textContent = errorText(error);
        return;
      }
      separator = found.path.includes("\\") ? "\\" : "/";
      here.value = found.path;
      fill(
        names,
        found.parent && h("li", {}, h("button", { type: "button", onclick: () => open(found.parent) }, `↑ ${t("picker.up")}`)),
        found.folders.map((name) => h("li", {}, h("button", { type: "button", onclick: () => open(join(name)) }, "📁 ", named(name)))),
        found.files.map((name) => h("li", {}, h("button", { type: "button", onclick: () => finish(join(name)) }, named(name)))),
        found.more > 0 && h("li", {}, t("picker.more", { count: found.more })),
      );
      names.querySelector("button")?.focus();
    });
    const box = h(
      "dialog", { class: "picker", "aria-label": t(files ? "picker.file" : "picker.title"), oncancel: () => finish("") },
      h("form", { class: "line", onsubmit: (event) => { event.preventDefault(); open(here.value); } },
        here, h("button", {}, t("picker.go"))),
      problem, names,
      h("p", { class: "line end" },
        !files && h("button", { type: "button", class: "main", onclick: () => finish(here.value) }, t("picker.choose")),
        h("button", { type: "button", onclick: () => finish("") }, t("cancel"))),
    );
    document.body.append(box);
    box.showModal();
    open(start || "");
  });
}
