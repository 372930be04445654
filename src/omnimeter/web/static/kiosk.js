/** A kiosk: it offers the next participant to begin, and leads to their page. */

/** @type {Record<string, Record<string, string>>} */
const TEXTS = {
  en: {
    welcome: "Welcome. When you are ready, press the button to begin.",
    begin: "Begin",
    wrong: "This did not work. Please tell the person in charge.",
  },
  es: {
    welcome: "Bienvenido. Cuando quieras, pulsa el botón para empezar.",
    begin: "Empezar",
    wrong: "Algo ha fallado. Avisa a la persona responsable.",
  },
};

const begin = /** @type {HTMLButtonElement} */ (document.getElementById("begin"));

/** @param {string} name @param {string} text */
function say(name, text) {
  const element = document.getElementById(name);
  if (element) element.textContent = text;
}

let said = TEXTS.en;

async function next() {
  begin.disabled = true; // a second press would invite another participant
  try {
    const answer = await fetch(`${location.pathname}/next`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{}",
    });
    if (!answer.ok) throw new Error();
    location.assign((await answer.json()).path);
  } catch {
    say("wrong", said.wrong);
    begin.disabled = false;
  }
}

async function show() {
  try {
    const answer = await fetch(`${location.pathname}/texts`);
    if (!answer.ok) throw new Error();
    const { title, language } = await answer.json();
    said = TEXTS[language] ?? TEXTS.en;
    document.documentElement.lang = said === TEXTS.en ? "en" : language;
    document.title = title;
    say("title", title);
    say("welcome", said.welcome);
    begin.textContent = said.begin;
    begin.hidden = false;
    begin.focus();
  } catch {
    say("wrong", said.wrong);
  }
}

begin.addEventListener("click", next);
window.addEventListener("pageshow", (event) => {
  if (event.persisted) begin.disabled = false; // they came back by the browser's own button
});
show();
