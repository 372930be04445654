/** What all pages share: elements, requests, sockets that are made again, and texts. */

/** @typedef {string | number | boolean | null | undefined | ((event: any) => void)} Attribute */
/** @typedef {Record<string, Attribute>} Attributes Functions listen: `onclick`. */
/** @typedef {Node | string | null | undefined | false} Child */

/**
 * An element with attributes and children; texts are never read as HTML.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/**
 * @template {Element} Made
 * @param {Made} element
 * @param {Attributes} attributes
 * @param {Child[]} children
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/** @template {HTMLElement} T @param {string} id @returns {T} */
export const byId = (id) => /** @type {T} */ (document.getElementById(id));

let saying = 0;

/** @param {string} words Said by screen readers, also if they were said before; on some pages seen. */
export function tell(words) {
  const place = byId("said");
  place.textContent = "";
  setTimeout(() => (place.textContent = words), 50);
  clearTimeout(saying);
  saying = window.setTimeout(() => (place.textContent = ""), 4_000);
}

/** What the server refuses, with what is wrong with each field of a form. */
export class Refused extends Error {
  /** @param {string} message @param {Record<string, string>} errors @param {number} status */
  constructor(message, errors = {}, status = 0) {
    super(message);
    this.errors = errors;
    this.status = status;
  }
}

/**
 * Ask the server; with data it is a change.
 * @param {string} path
 * @param {object} [data]
 * @returns {Promise<any>}
 */
export async function ask(path, data) {
  const request = data && {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(data),
  };
  const answer = await fetch(path, request).catch(() => null);
  if (!answer) throw new Refused("The server does not answer.");
  if (answer.status === 401 && location.pathname !== "/login") location.assign("/login");
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  const detail = told.detail ?? answer.statusText;
  const wrong = Array.isArray(detail) ? detail : [{ msg: detail }]; // a list: where, and what
  const words = wrong.map(({ loc = [], msg }) => [...loc.slice(1), msg].join(" "));
  throw new Refused(words.join("; "), told.errors, answer.status);
}

/**
 * Do something, and show what the server refuses.
 * @param {HTMLElement} place
 * @param {() => void | Promise<void>} work
 * @returns {Promise<boolean>} Whether it is done.
 */
export async function attempt(place, work) {
  place.textContent = "";
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    place.textContent = error.message;
    return false;
  }
}

/**
 * @typedef {"open" | "lost" | "crowded" | "unknown" | "expired" | "trouble"} Status
 * Open: something has come. Crowded: there are too many pages. The last three are for good.
 */

const [SILENT, CROWDED_DELAY] = [4408, 10_000];
const [FIRST_DELAY, LONGEST_DELAY] = [300, 8_000];
const CODES = new Map(
  /** @type {[number, Status][]} */ ([
    [4404, "unknown"],
    [4410, "expired"],
    [4429, "crowded"],
    [4500, "trouble"],
  ]),
);

/** A socket of this server, which is made again when it is lost, until it is stopped. */
export class Socket {
  /** @type {WebSocket | null} */ #socket = null;
  #delay = FIRST_DELAY;
  #retry = 0;
  #ending = new AbortController();

  /**
   * @param {string} path
   * @param {(message: any) => void} onMessage
   * @param {(status: Status) => void} onStatus
   */
  constructor(path, onMessage, onStatus) {
    this.address = `${location.protocol.replace("http", "ws")}//${location.host}${path}`;
    this.onMessage = onMessage;
    this.onStatus = onStatus;
    const { signal } = this.#ending;
    addEventListener("offline", () => this.lose(), { signal });
    addEventListener("online", () => this.#hurry(), { signal });
    document.addEventListener("visibilitychange", () => !document.hidden && this.#hurry(), { signal });
    this.#connect();
  }

  /** @param {object} message */
  send(message) {
    this.#socket?.send(JSON.stringify(message));
  }

  /** End it for good. */
  stop() {
    this.#ending.abort();
    clearTimeout(this.#retry);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #connect() {
    const socket = new WebSocket(this.address);
    let isOpen = false;
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      if (socket !== this.#socket) return;
      if (!isOpen) this.onStatus("open");
      isOpen = true;
      this.#delay = FIRST_DELAY;
      this.onMessage(JSON.parse(data));
    });
    socket.addEventListener("close", ({ code }) => {
      if (socket !== this.#socket) return;
      const status = CODES.get(code) ?? "lost";
      if (status === "lost") this.lose(code === SILENT && document.hidden ? Infinity : this.#delay);
      else if (status === "crowded") this.lose(CROWDED_DELAY, status);
      else {
        this.stop();
        this.onStatus(status);
      }
    });
  }

  /**
   * Give a connection up, and make another one later.
   * @param {number} [delay] If it is infinite, once the page is seen again.
   * @param {Status} [status]
   */
  lose(delay = FIRST_DELAY, status = "lost") {
    const socket = this.#socket;
    if (!socket) return;
    this.#socket = null;
    socket.close();
    this.onStatus(status);
    this.#delay = Math.min(LONGEST_DELAY, this.#delay * 1.7);
    const spread = 0.8 + 0.4 * Math.random(); // so that not all pages come back at once
    if (delay < Infinity) this.#retry = window.setTimeout(() => this.#connect(), delay * spread);
  }

  /** Do not wait any longer for the next connection. */
  #hurry() {
    if (this.#socket) return;
    clearTimeout(this.#retry);
    this.#connect();
  }
}

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
 * The texts of the first of some languages that there is a file of; what is missing is English.
 * @param {readonly string[]} languages
 * @returns {Promise<{language: string, texts: Texts}>}
 */
export async function fetchTexts(languages) {
  const english = await ask("/static/locales/en.json");
  for (const language of languages.flatMap((each) => [each, each.split("-")[0]])) {
    const path = `/static/locales/${encodeURIComponent(language)}.json`;
    const own = language === "en" ? english : await ask(path).catch(() => null);
    if (own) return { language, texts: { ...english, ...own } };
  }
  return { language: "en", texts: english };
}
