// The page as a whole: its head, and which page the address names.
import { enter } from "./api.js";
import { doing, errorText, fill, h, hideTip, say } from "./dom.js";
import { reviewPage } from "./review.js";
import { rulesPage, startPage } from "./start.js";
import { toolPage } from "./tools.js";
import { choose, languages, load, spoken, t } from "./words.js";

const TOOLS = ["distribute", "launch", "simulate", "verify-steps", "verify-compare", "verify-loss", "diagnose", "doctor"];
const THEMES = ["", "light", "dark"];
const page = document.getElementById("page");

function theme(wanted) {
  if (wanted) document.documentElement.dataset.theme = wanted;
  else delete document.documentElement.dataset.theme;
  localStorage.setItem("npuify-theme", wanted);
}

function head() {
  const skip = document.getElementById("skip");
  skip.textContent = t("skip");
  document.getElementById("working").textContent = t("working");
  skip.onclick = (event) => { event.preventDefault(); page.focus(); };
  const now = location.hash;
  const link = (address, words) => h("a", { href: address, "aria-current": now.startsWith(address) && (address !== "#/" || now === "#/") ? "page" : null }, words);
  const language = h("select", { "aria-label": "Language / 语言", id: "language", onchange: doing(async (event) => {
    await choose(event.target.value);
    await show();
  }) }, languages().map(([key, name]) => h("option", { value: key }, name)));
  language.value = spoken();
  const looks = h("select", { "aria-label": t("theme"), id: "theme", onchange: (event) => theme(event.target.value) },
    THEMES.map((one) => h("option", { value: one }, t(`theme.${one || "auto"}`))));
  looks.value = document.documentElement.dataset.theme || "";
  fill(document.getElementById("top"), h("a", { class: "brand", href: "#/" }, "npuify ", h("b", {}, "studio")),
    h("nav", { "aria-label": t("pages") }, link("#/", t("page.start")), TOOLS.map((one) => link(`#/tool/${one}`, t(`tool.${one}`))), link("#/rules", t("rules.short"))),
    h("span", { class: "space" }), looks, language);
}

async function show() {
  hideTip();
  head();
  const [kind, ...rest] = location.hash.replace(/^#\//, "").split("/");
  const place = h("div", { class: "page" });
  fill(page, place);
  document.title = "npuify studio";
  try {
    if (kind === "review") await reviewPage(place, rest[0], rest[1] || "overview", rest.slice(2));
    else if (kind === "tool") await toolPage(place, rest[0]);
    else if (kind === "rules") await rulesPage(place);
    else await startPage(place);
    place.dataset.ready = "yes";
  } catch (error) {
    fill(place, h("section", { class: "card", role: "alert" }, h("p", { class: "bad" }, errorText(error)), h("p", {}, h("a", { href: "#/" }, t("page.start")))));
    if (!error.told) throw error;
  }
}

theme(localStorage.getItem("npuify-theme") || "");
await load();
try {
  await enter();
} catch (error) {
  say(errorText(error), true);
}
addEventListener("hashchange", show);
addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
await show();
