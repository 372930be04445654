/** A link that leads to no participant: says so in the language of the browser. */

import { browserTexts, say } from "./texts.js";

const known = await browserTexts();
if (known) {
  document.documentElement.lang = known.language;
  for (const name of ["title", "text"]) {
    const place = document.getElementById(name);
    if (place) place.textContent = say(known.texts, `unknown-${name}`);
  }
}
