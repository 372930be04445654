/** What all pages of the experimenter share: elements, requests, and what the server pushes. */

/**
 * An element with attributes, listeners (`onclick`) and children; texts are never read as HTML.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

/** @param {Element} element @param {Record<string, unknown>} attributes @param {unknown[]} children */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  for (const child of children) {
    if (child) element.append(/** @type {Node | string} */ (child));
  }
}

/** What the server refuses, with what is wrong with each field of a form. */
export class Refused extends Error {
  /** @param {string} message @param {Record<string, string>} errors */
  constructor(message, errors = {}) {
    super(message);
    this.errors = errors;
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
  let answer;
  try {
    answer = await fetch(path, request);
  } catch {
    throw new Refused("The server does not answer.");
  }
  if (answer.status === 401) location.assign("/login");
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(String(told.detail ?? answer.statusText), told.errors);
  return told;
}

/** @typedef {{fresh: boolean, time: number, changed: Record<string, any>, gone: string[]}} Changes */

/**
 * Be told what has changed, until it is closed; a lost connection is made again.
 * @param {string} path
 * @param {(changes: Changes) => void} onChanges The first ones of a connection are all there is.
 * @param {(state: "open" | "lost" | "missing") => void} onState
 * @returns {() => void} Closes it.
 */
export function follow(path, onChanges, onState) {
  let delay = 500;
  let closed = false;
  /** @type {WebSocket} */ let socket;
  const connect = () => {
    if (closed) return;
    let fresh = true;
    socket = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}${path}`);
    socket.onmessage = (event) => {
      onState("open");
      delay = 500;
      onChanges({ fresh, ...JSON.parse(event.data) });
      fresh = false;
    };
    socket.onclose = (event) => {
      if (closed) return;
      onState(event.code === 4404 ? "missing" : "lost");
      if (event.code !== 4404) setTimeout(connect, delay);
      delay = Math.min(2 * delay, 8000);
    };
  };
  connect();
  return () => {
    closed = true;
    socket.close();
  };
}

/** @param {string} text Said by screen readers and shown for a moment. */
export function say(text) {
  const place = document.getElementById("said");
  if (!place) return;
  place.textContent = text;
  place.classList.add("shown");
  setTimeout(() => place.classList.remove("shown"), 3000);
}

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {(name: string, item: any) => Node | string} cell
 * @property {boolean} [number]
 */

/** A table whose rows have names and are brought up to date one by one. */
export class Table {
  /**
   * @param {string} caption
   * @param {Column[]} columns
   * @param {(name: string, item: any) => string | number} order
   */
  constructor(caption, columns, order) {
    this.columns = columns;
    this.order = order;
    /** @type {Map<string, {row: HTMLElement, item: any}>} */
    this.rows = new Map();
    this.body = h("tbody", { role: "rowgroup" });
    const heads = columns.map((column) =>
      h("th", { scope: "col", role: "columnheader", class: column.number && "number" }, column.title),
    );
    this.element = h(
      "table",
      { role: "table", "aria-label": caption },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...heads)),
      this.body,
    );
  }

  /** @param {string} name @param {any} item */
  set(name, item) {
    const known = this.rows.get(name);
    const row = known?.row ?? h("tr", { role: "row" });
    this.columns.forEach((column, place) => {
      const content = column.cell(name, item);
      const cell = row.children[place];
      if (!cell) {
        const attributes = { role: "cell", "data-label": column.title, class: column.number && "number" };
        row.append(h("td", attributes, content));
      } else if (typeof content === "string" ? cell.textContent !== content : place > 0) {
        cell.replaceChildren(content); // the first one has the link, which keeps its focus
      }
    });
    this.rows.set(name, { row, item });
    if (known && this.order(name, known.item) === this.order(name, item)) return;
    const own = this.order(name, item);
    const next = [...this.rows.entries()]
      .filter(([other, each]) => other !== name && this.order(other, each.item) > own)
      .sort(([one, a], [two, b]) => (this.order(one, a.item) > this.order(two, b.item) ? 1 : -1))[0];
    this.body.insertBefore(row, next ? next[1].row : null);
  }

  /** @param {Changes} changes */
  update({ fresh, changed, gone }) {
    const lost = fresh ? [...this.rows.keys()].filter((name) => !(name in changed)) : gone;
    for (const name of lost) {
      this.rows.get(name)?.row.remove();
      this.rows.delete(name);
    }
    for (const [name, item] of Object.entries(changed)) this.set(name, item);
  }
}

/** @param {number} seconds */
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.round(whole / 60)} min`;
  if (whole < 172_800) return `${Math.round(whole / 3600)} h`;
  return `${Math.round(whole / 86_400)} days`;
}
