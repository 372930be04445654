/** The login: the token from the address, or one that is typed, is exchanged for a cookie. */

import { ask, attempt, byId } from "./page.js";

const field = /** @type {HTMLInputElement} */ (byId("token"));

/** @param {string} token */
async function enter(token) {
  field.removeAttribute("aria-invalid");
  if (await attempt(byId("wrong"), () => ask("/login", { token }))) {
    location.replace("/");
    return;
  }
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  enter(field.value.trim());
});

const given = location.hash.slice(1);
if (given) {
  history.replaceState(null, "", "/login"); // no token in the history of the browser
  enter(given);
} else {
  field.focus();
}
