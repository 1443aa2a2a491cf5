// Controls of forms, each with its label.
import { ask } from "./api.js";
import { doing, h, say } from "./dom.js";
import { pick } from "./picker.js";
import { t, tOr } from "./words.js";

let number = 0;

function labelled(label, control, help, extra) {
  number += 1;
  control.id = `field-${number}`;
  const told = help ? h("small", { id: `help-${number}` }, help) : null;
  if (told) control.setAttribute("aria-describedby", told.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), h("div", { class: "line" }, control, extra), told);
}

export function text(label, value, changed, { help = "", hint = "" } = {}) {
  return labelled(label, h("input", { value, placeholder: hint, spellcheck: "false", oninput: (e) => changed(e.target.value) }), help);
}

export function flag(label, value, changed, help = "") {
  number += 1;
  return h("div", { class: "field flag" },
    h("label", {}, h("input", { type: "checkbox", checked: value, onchange: (e) => changed(e.target.checked) }), " ", label),
    help && h("small", {}, help));
}

export function choice(label, value, changed, options, help = "") {
  const made = h("select", { onchange: (e) => changed(e.target.value) },
    options.map(([key, shown]) => h("option", { value: key }, shown)));
  made.value = value;
  return labelled(label, made, help);
}

export function path(label, value, changed, { help = "", files = false, endings = [] } = {}) {
  const control = h("input", { value, spellcheck: "false", oninput: (e) => changed(e.target.value) });
  const choose = h("button", {
    type: "button", "aria-label": `${t("choose")} ${label}`,
    onclick: doing(async () => {
      const found = await pick(control.value, { files, endings });
      if (found) { control.value = found; changed(found); }
      choose.focus();
    }),
  }, t("choose"));
  return labelled(label, control, help, choose);
}

/** Files dropped in, or chosen: they are copied to the server's own folder. */
export function drop(label, changed, help = "") {
  const kept = h("span", { class: "dim" });
  const take = doing(async (files) => {
    const paths = [];
    for (const file of files) {
      const content = await new Promise((done, failed) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
        reader.onerror = () => failed(reader.error);
        reader.readAsDataURL(file);
      });
      paths.push((await ask("drop", { file: file.name, text: file.size ? content : "" })).path);
    }
    kept.textContent = [...files].map((one) => one.name).join(", ");
    say(t("dropped", { count: paths.length }));
    changed(paths);
  });
  const control = h("input", { type: "file", multiple: true, onchange: (e) => take(e.target.files) });
  const made = labelled(label, control, help || t("drop.help"), kept);
  made.classList.add("drop");
  made.addEventListener("dragover", (event) => { event.preventDefault(); made.classList.add("over"); });
  made.addEventListener("dragleave", () => made.classList.remove("over"));
  made.addEventListener("drop", (event) => {
    event.preventDefault();
    made.classList.remove("over");
    take(event.dataTransfer.files);
  });
  return made;
}

export const helpFor = (key) => tOr(`${key}.help`, "");
