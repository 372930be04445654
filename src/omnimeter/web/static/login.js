/** The login: the token from the address, or one that is typed, is exchanged for a cookie. */

const form = /** @type {HTMLFormElement} */ (document.getElementById("login"));
const field = /** @type {HTMLInputElement} */ (document.getElementById("token"));
const wrong = /** @type {HTMLElement} */ (document.getElementById("wrong"));

/** @param {string} token */
async function enter(token) {
  wrong.textContent = "";
  field.removeAttribute("aria-invalid");
  try {
    const answer = await fetch("/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    if (answer.ok) {
      location.replace("/");
      return;
    }
    wrong.textContent = (await answer.json()).detail ?? "That did not work.";
  } catch {
    wrong.textContent = "The server does not answer.";
  }
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

form.addEventListener("submit", (event) => {
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
