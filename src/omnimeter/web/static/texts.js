/** What pages say, in the language of the study or of the browser. */

/** @typedef {Record<string, string>} Texts The texts of a language, by their keys. */

/**
 * A text with values in its places, such as `Exercise {exercise}`; the key itself if there is none.
 * @param {Texts} texts
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function say(texts, key, values = {}) {
  const text = texts[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place));
}

/**
 * The texts of the first of the browser's languages that there is a file of.
 * @returns {Promise<{language: string, texts: Texts} | null>} null if there is none.
 */
export async function browserTexts() {
  const wanted = navigator.languages.flatMap((each) => [each, each.split("-")[0]]);
  for (const language of wanted) {
    const answer = await fetch(`/static/locales/${encodeURIComponent(language)}.json`);
    if (answer.ok) return { language, texts: await answer.json() };
  }
  return null;
}

/** @typedef {Record<string, string | number | boolean | ((event: any) => void)>} Attributes */

/**
 * An element of a page. Attributes that are functions listen to the event of their name; `true` is
 * an attribute without a value, `false` none.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

/**
 * A text of an experimenter as paragraphs: an empty line separates them.
 * @param {string} text
 * @returns {HTMLElement[]}
 */
export function paragraphs(text) {
  const parts = text.split(/\n\s*\n/).filter((each) => each.trim());
  return parts.map((each) => element("p", { class: "given" }, each.trim()));
}
