// The page's own words, in the language of the user. What npuify says of code is asked for in it, too.

const KEY = "npuify-language";
const LANGUAGES = { en: "English", zh: "中文" };
let words = {};
let language = "en";

export async function load(wanted) {
  const usual = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
  language = wanted || localStorage.getItem(KEY) || usual;
  if (!(language in LANGUAGES)) language = "en";
  words = await (await fetch(`${language}.json`)).json();
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

export async function choose(wanted) {
  localStorage.setItem(KEY, wanted);
  await load(wanted);
}

export const languages = () => Object.entries(LANGUAGES);
export const spoken = () => language;

/** The words for a key, with what stands in braces put in. */
export function t(key, values = {}) {
  const text = words[key];
  if (text === undefined) return key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

/** The words for a key, or what is given where there are none. */
export const tOr = (key, other) => (words[key] === undefined ? other : words[key]);
