// Elements, made without markup: whatever comes from a project reaches the page as text.

export function h(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key.startsWith("aria-")) made.setAttribute(key, String(value));
    else if (value === false) continue;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else if (key === "data") Object.assign(made.dataset, value);
    else if (key === "value" || key === "checked" || key === "disabled") made[key] = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return made;
}

export function fill(place, ...children) {
  place.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
}

/** A path or name: its direction is its own, whatever it holds. */
export const named = (text) => h("bdi", {}, text);

/** Tell what happened to those who do not see it. */
export function say(text, bad = false) {
  const place = document.getElementById("said");
  place.className = bad ? "bad" : "";
  place.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { place.textContent = ""; }, bad ? 15000 : 5000);
}

export function errorText(error) {
  const place = error.file ? `${error.file}${error.line ? `:${error.line}` : ""}: ` : "";
  return `${place}${error.message}${error.advice ? `\n${error.advice}` : ""}`;
}

/** Run what a control does; what fails is told. */
export function doing(work) {
  return async (event) => {
    const slow = setTimeout(() => document.body.classList.add("working"), 400);
    try {
      await work(event);
    } catch (error) {
      say(errorText(error), true);
      if (!error.told) throw error;
    } finally {
      clearTimeout(slow);
      document.body.classList.remove("working");
    }
  };
}

let waiting = 0;
const tip = () => document.getElementById("tip");

/** Show an explanation beside an element while it is pointed at or has the focus. */
export function explained(element, ask) {
  const show = async () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const text = await ask();
      if (!text || !element.isConnected) return;
      const place = element.getBoundingClientRect();
      const box = tip();
      box.textContent = text;
      box.hidden = false;
      const width = Math.min(480, innerWidth - 20);
      box.style.width = `${width}px`;
      box.style.left = `${Math.max(10, Math.min(place.left, innerWidth - width - 10))}px`;
      const below = place.bottom + 6;
      box.style.top = below + box.offsetHeight > innerHeight && place.top > box.offsetHeight
        ? `${place.top - box.offsetHeight - 6}px` : `${below}px`;
    }, 300);
  };
  element.setAttribute("aria-describedby", "tip");
  element.addEventListener("mouseenter", show);
  element.addEventListener("focus", show);
  for (const name of ["mouseleave", "blur"]) element.addEventListener(name, hideTip);
  return element;
}

export function hideTip() {
  clearTimeout(waiting);
  tip().hidden = true;
}

export function save(name, text, type = "text/plain") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
