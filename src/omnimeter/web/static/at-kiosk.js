/** A participant's page at a kiosk: it leads back to the kiosk, by a button and by itself. */

import { h } from "./page.js";

/** @typedef {(key: string, values?: Record<string, string | number>) => string} Text */

// All in seconds.
const STAY = 60; // for which the last page is shown
const IDLE = 180; // without input, after which participants are asked whether they are there
const ANSWER = 60; // in which they can answer

/** Whether this page is at a kiosk. */
export const isKiosk = new URLSearchParams(location.search).has("kiosk");

/** Go to the kiosk's page once the server answers; nothing of this participant is left behind. */
async function leave() {
  while (!(await fetch("/kiosk").catch(() => null))) {
    await new Promise((done) => setTimeout(done, 5_000));
  }
  sessionStorage.clear();
  location.replace("/kiosk");
}

/**
 * Lead back after some seconds, unless the place where they are counted is gone by then.
 * @param {HTMLElement} place
 * @param {number} seconds
 * @param {(seconds: number) => string} words
 */
function countDown(place, seconds, words) {
  const end = Date.now() + 1000 * seconds;
  place.textContent = words(seconds);
  const clock = setInterval(() => {
    const left = Math.ceil((end - Date.now()) / 1000);
    if (left > 0) place.textContent = words(left);
    if (left > 0 && place.isConnected) return;
    clearInterval(clock);
    if (place.isConnected) leave();
  }, 1000);
}

/** What the last page of a session ends with. @param {Text} text @returns {HTMLElement[]} */
export function goodbye(text) {
  if (!isKiosk) return [];
  const left = h("p", { class: "quiet" });
  countDown(left, STAY, (seconds) => text("kiosk-back", { seconds }));
  const next = h("button", { type: "button", class: "main", onclick: leave }, text("kiosk-next"));
  return [h("div", { class: "actions" }, next), left];
}

/** Ask those who do nothing for some minutes whether they are there. @param {Text} text */
export function watchInput(text) {
  if (!isKiosk) return;
  let idle = 0;
  const dialog = h("dialog", { "aria-labelledby": "idle", "aria-describedby": "idle-text" });
  const ask = () => {
    const left = h("p", { id: "idle-text" });
    const stay = h("button", { type: "button", class: "main", onclick: () => dialog.close() });
    stay.append(text("idle-stay"));
    dialog.replaceChildren(h("h2", { id: "idle" }, text("idle-title")), left, stay);
    countDown(left, ANSWER, (seconds) => text("idle-text", { seconds }));
    dialog.showModal();
  };
  const wait = () => {
    clearTimeout(idle);
    if (!dialog.open) idle = window.setTimeout(ask, 1000 * IDLE);
  };
  dialog.addEventListener("close", () => {
    dialog.replaceChildren();
    wait();
  });
  document.body.append(dialog);
  for (const input of ["pointerdown", "pointermove", "keydown", "wheel"]) {
    document.addEventListener(input, wait, { capture: true, passive: true });
  }
  wait();
  addEventListener("pageshow", ({ persisted }) => persisted && leave()); // by the browser's Back
}
