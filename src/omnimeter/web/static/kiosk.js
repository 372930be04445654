/** A kiosk: it offers the next participant to begin, and leads to their page. */

import { Refused, ask, byId, fetchTexts, say } from "./page.js";

/** @type {HTMLButtonElement} */ const begin = byId("begin");
const wrong = byId("wrong");
let { language, texts } = await fetchTexts(navigator.languages); // until it is known which the study has

async function show() {
  const design = await ask(`${location.pathname}/texts`);
  ({ language, texts } = await fetchTexts([design.language]));
  document.documentElement.lang = language;
  document.title = design.title;
  byId("title").textContent = design.title;
  byId("welcome").textContent = say(texts, "kiosk-welcome");
  begin.textContent = say(texts, "kiosk-begin");
  begin.hidden = false;
  begin.focus();
}

async function next() {
  begin.disabled = true; // a second press would invite another participant
  wrong.textContent = "";
  const { path } = await ask(`${location.pathname}/next`, {});
  location.replace(path); // so that Back leads to no session
}

function close() {
  document.documentElement.lang = language;
  document.title = say(texts, "kiosk-closed-title");
  byId("title").textContent = document.title;
  byId("welcome").textContent = say(texts, "kiosk-closed-text");
  begin.hidden = true;
}

/** @param {() => Promise<void>} work */
async function attempt(work) {
  try {
    await work();
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return close();
    wrong.textContent = say(texts, "kiosk-wrong");
    begin.disabled = false;
  }
}

begin.addEventListener("click", () => attempt(next));
addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
attempt(show);
