// Questions to the server. The token comes in the part of the address that browsers never send, and stays in this tab.

import { spoken, t } from "./words.js";

const KEY = "npuify-token";

export class Refused extends Error {
  constructor(told) {
    super(told.error || "?");
    Object.assign(this, { advice: told.advice || "", file: told.file || "", line: told.line || 0, told: true });
  }
}

async function post(name, body, signal) {
  let answer;
  try {
    answer = await fetch(`api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-npuify-token": sessionStorage.getItem(KEY) || "" },
      body: JSON.stringify({ language: spoken(), ...body }),
      credentials: "omit",
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused({ error: t("no.answer") });
  }
  if (!answer.ok) {
    let told = {};
    try { told = await answer.json(); } catch { told = { error: `${answer.status} ${answer.statusText}` }; }
    throw new Refused(told);
  }
  return answer;
}

export async function ask(name, body = {}) {
  return (await post(name, body)).json();
}

/** Server-sent events, each given to `told`, until the server ends them. */
export async function events(name, body, told, signal) {
  const reader = (await post(name, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) told(JSON.parse(part.slice("data: ".length)));
  }
}

/** Take the token from the address, and the address out of the history. */
export async function enter() {
  const said = new URLSearchParams(location.hash.slice(1));
  const token = said.get("token");
  const ticket = said.get("ticket");
  if (token || ticket) history.replaceState(null, "", "#/");
  if (token) sessionStorage.setItem(KEY, token);
  else if (ticket) sessionStorage.setItem(KEY, (await ask("enter", { ticket })).token);
}
