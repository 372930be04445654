/** A link that leads to no participant: says so in the language of the browser. */

import { goodbye } from "./at-kiosk.js";
import { byId, fetchTexts, say } from "./page.js";

const { language, texts } = await fetchTexts(navigator.languages);
document.documentElement.lang = language;
for (const name of ["title", "text"]) byId(name).textContent = say(texts, `unknown-${name}`);
byId("text").after(...goodbye((key, values) => say(texts, key, values)));
