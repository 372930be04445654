/** What the experimenter sees arriving: tables, and scores with intervals and curves that grow. */

import { Socket, h, svg } from "./page.js";

/** @typedef {{fresh: boolean, time: number, changed: Record<string, any>, gone: string[]}} Changes */

/**
 * Be told what has changed, until it is closed.
 * @param {string} path
 * @param {(changes: Changes) => void} onChanges The first ones of a connection are all there is.
 * @param {() => void} [onMissing] There is no such thing.
 * @returns {{element: HTMLElement, stop: () => void}} What is said of the connection; ends it.
 */
export function follow(path, onChanges, onMissing) {
  const element = h("p", { class: "quiet", role: "status" });
  let fresh = true;
  const socket = new Socket(
    path,
    (message) => {
      onChanges({ fresh, ...message });
      fresh = false;
    },
    (status) => {
      fresh = true;
      const isPassing = status === "lost" || status === "crowded";
      element.textContent = isPassing ? "The connection is lost; trying again." : "";
      if (status === "unknown") onMissing?.();
    },
  );
  return { element, stop: () => socket.stop() };
}

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {(name: string, item: any) => Node | string} cell
 * @property {boolean} [number]
 */

/** A table whose rows have names and are brought up to date one by one; hidden while it is empty. */
export class Table {
  /**
   * @param {string} caption
   * @param {Column[]} columns
   * @param {(name: string, item: any) => string | number} order
   */
  constructor(caption, columns, order) {
    this.columns = columns;
    this.order = order;
    /** @type {Map<string, {row: HTMLElement, item: any}>} */ this.rows = new Map();
    /** @type {WeakMap<Element, string | number>} */ this.orders = new WeakMap();
    this.body = h("tbody", { role: "rowgroup" });
    const heads = columns.map((column) =>
      h("th", { scope: "col", role: "columnheader", class: column.number && "number" }, column.title),
    );
    this.element = h(
      "table",
      { role: "table", "aria-label": caption, hidden: true },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...heads)),
      this.body,
    );
  }

  /** @param {string} name @param {any} item */
  set(name, item) {
    this.element.hidden = false;
    const row = this.rows.get(name)?.row ?? h("tr", { role: "row" });
    this.columns.forEach((column, place) => {
      const attributes = { role: "cell", "data-label": column.title, class: column.number && "number" };
      const cell = h("td", attributes, column.cell(name, item));
      const shown = row.children[place];
      if (!shown) row.append(cell);
      else if (shown.innerHTML !== cell.innerHTML) shown.replaceChildren(...cell.childNodes);
    });
    this.rows.set(name, { row, item });
    const own = this.order(name, item);
    if (this.orders.get(row) === own) return;
    const later = (/** @type {Element} */ each) => (this.orders.get(each) ?? 0) > own;
    this.orders.set(row, own);
    row.remove();
    this.body.insertBefore(row, [...this.body.children].find(later) ?? null);
  }

  /** @param {Changes} changes */
  update({ fresh, changed, gone }) {
    const lost = fresh ? [...this.rows.keys()].filter((name) => !(name in changed)) : gone;
    for (const name of lost) {
      this.rows.get(name)?.row.remove();
      this.rows.delete(name);
    }
    for (const [name, item] of Object.entries(changed)) this.set(name, item);
    this.element.hidden = !this.rows.size;
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

/**
 * @typedef {object} Row
 * @property {string} agent
 * @property {number} count
 * @property {number} faults
 * @property {number | null} value
 * @property {number | null} low
 * @property {number | null} high
 * @property {(number | null)[][]} [points] Place, value and the ends of its interval.
 */

/** @typedef {{title: string, across: string, rows: Row[]}} Test */

const STYLES = 8; // colours and dashes of curves, in the style sheet

/** @param {number | null} value */
function number(value) {
  if (value === null) return "–";
  return value.toFixed(Math.abs(value) < 10 ? 3 : 1).replace(/^-(0\.0+)$/, "$1");
}

/** @param {string} path */
const encoded = (path) => path.split("/").map(encodeURIComponent).join("/");

/** @param {string} path */
const resultsLink = (path) =>
  h("a", { href: `#/results/${encoded(path)}` }, path === "." ? "this folder" : path);

/** @param {string} path */
const pageLink = (path) =>
  h("a", { href: `/stored/${encoded(path)}`, target: "_blank", rel: "noopener" }, path);

/** @param {string} state @param {string} [kind] @param {string} [title] */
export const badge = (state, kind, title) =>
  h("span", { class: kind ? `badge ${kind}` : "badge", title }, state);

/** @param {any} item */
function stateOf(item) {
  if (item.damaged) return badge("damaged", "bad", item.damaged);
  return item.running ? badge("running", "on") : badge("stored");
}

const MOST_PANELS = 6;

/**
 * The lists of what is stored below the folder; what is running is shown with its scores.
 * @param {HTMLElement} place
 * @returns {() => void} Ends it.
 */
export function showStored(place) {
  const now = h("div");
  const none = h("p", { class: "quiet" }, "No evaluation or campaign is stored below this folder yet.");
  const changed = (/** @type {string} */ _, /** @type {any} */ item) =>
    item.changed ? new Date(item.changed * 1000).toLocaleString() : "–";
  const latest = (/** @type {string} */ path, /** @type {any} */ item) =>
    `${String(1e12 - (item.changed ?? 0)).padStart(14, "0")} ${path}`;
  const results = new Table(
    "Results",
    [
      { title: "Results", cell: resultsLink },
      { title: "Kind", cell: (_, item) => (item.kind === "campaign" ? `campaign of ${item.evaluations}` : "evaluation") },
      { title: "State", cell: (_, item) => stateOf(item) },
      { title: "Last change", cell: changed },
    ],
    latest,
  );
  const pages = new Table(
    "Report pages",
    [
      { title: "Page", cell: pageLink },
      { title: "Written", cell: changed },
    ],
    latest,
  );
  const pagesTitle = h("h3", {}, "Report pages");
  /** @type {Map<string, () => void>} */
  const panels = new Map();
  const { element, stop } = follow("/api/stored/ws", (changes) => {
    const all = Object.entries(changes.changed);
    const of = (/** @type {boolean} */ page) =>
      Object.fromEntries(all.filter(([, item]) => (item.kind === "page") === page));
    results.update({ ...changes, changed: of(false) });
    pages.update({ ...changes, changed: of(true) });
    none.hidden = results.rows.size > 0;
    pagesTitle.hidden = !pages.rows.size;
    const running = [...results.rows].filter(([, { item }]) => item.running).map(([path]) => path);
    for (const [path, close] of panels) {
      if (running.includes(path)) continue;
      close();
      panels.delete(path);
    }
    for (const path of running.slice(0, MOST_PANELS)) {
      if (!panels.has(path)) panels.set(path, openPanel(now, path));
    }
  });
  place.append(now, none, results.element, pagesTitle, pages.element, element);
  return () => {
    stop();
    for (const close of panels.values()) close();
  };
}

/** @param {HTMLElement} place @param {string} path */
function openPanel(place, path) {
  const body = h("div");
  const title = h("h3", {}, resultsLink(path));
  const panel = h("section", { class: "card", "aria-label": `Running: ${path}` }, title, body);
  place.append(panel);
  const end = showResults(body, path);
  return () => {
    end();
    panel.remove();
  };
}

/**
 * One evaluation or campaign, as long as it is looked at.
 * @param {HTMLElement} place
 * @param {string} path
 * @returns {() => void} Ends it.
 */
export function showResults(place, path) {
  const body = h("div", {}, h("p", { class: "quiet" }, "Reading …"));
  const { element, stop } = follow(
    `/api/scores/ws?path=${encodeURIComponent(path)}`,
    ({ changed }) => {
      if (!changed[path]) return;
      const open = body.querySelector("details")?.open;
      body.replaceChildren(...contents(changed[path]));
      if (open) body.querySelector("details")?.setAttribute("open", "");
    },
    () => body.replaceChildren(h("p", {}, "There are no such results any more.")),
  );
  place.append(body, element);
  return stop;
}

/** @param {any} item */
function contents(item) {
  const parts = [];
  if (item.title) parts.push(h("p", { class: "setting" }, item.title));
  if (item.tests) {
    const of = item.expected ? ` of ${item.expected.toLocaleString()}` : "";
    const left = item.seconds_left ? `, about ${span(item.seconds_left)} left` : "";
    const done = `${item.done.toLocaleString()}${of} exercises done${left}`;
    const state = item.running ? badge("running", "on") : badge(item.state);
    parts.push(h("p", {}, state, " ", done));
    if (item.expected && !item.complete) {
      parts.push(h("progress", { max: item.expected, value: Math.min(item.done, item.expected), "aria-label": "Exercises done" }));
    }
    if (item.quarantined) parts.push(h("p", { class: "error" }, `${item.quarantined} units of work were given up.`));
  }
  for (const [file, why] of Object.entries(item.damaged ?? {})) {
    parts.push(h("p", { class: "error" }, badge("damaged", "bad"), ` ${file}: ${why}`));
  }
  for (const warning of item.warnings ?? []) parts.push(h("p", { class: "quiet" }, warning));
  for (const test of item.tests ?? []) parts.push(...testOf(test, item.tests.length > 1));
  const list = (/** @type {Node[]} */ links) => h("ul", {}, ...links.map((each) => h("li", {}, each)));
  const reports = (item.reports ?? []).map(pageLink);
  if (reports.length) parts.push(h("h3", {}, "Report pages"), list(reports));
  const inside = (item.evaluations ?? []).map(resultsLink);
  if (inside.length) {
    parts.push(h("details", {}, h("summary", {}, `${inside.length} evaluations`), list(inside)));
  }
  return parts;
}

/** @param {Test} test @param {boolean} named */
function testOf(test, named) {
  const ranked = test.rows.map((row, place) => ({ row, style: place % STYLES }));
  ranked.sort((a, b) => (b.row.value ?? -Infinity) - (a.row.value ?? -Infinity));
  const figure = chart(test);
  const table = new Table(
    `Scores: ${test.title}`,
    [
      { title: "Agent", cell: (agent, { style }) => h("span", { class: "agent" }, figure && swatch(style), agent) },
      { title: "Score", number: true, cell: (_, { row }) => number(row.value) },
      {
        title: "95 % interval",
        number: true,
        cell: (_, { row }) => (row.low === null ? "–" : `${number(row.low)} to ${number(row.high)}`),
      },
      { title: "Exercises", number: true, cell: (_, { row }) => row.count.toLocaleString() },
      { title: "Faults", number: true, cell: (_, { row }) => String(row.faults) },
    ],
    (agent) => ranked.findIndex(({ row }) => row.agent === agent),
  );
  for (const each of ranked) table.set(each.row.agent, each);
  return [...(named ? [h("h3", {}, test.title)] : []), table.element, ...(figure ? [figure] : [])];
}

/** @param {number} style */
function swatch(style) {
  return svg(
    "svg",
    { class: "swatch", viewBox: "0 0 24 8", "aria-hidden": "true" },
    svg("line", { class: `curve c${style}`, x1: 0, y1: 4, x2: 24, y2: 4 }),
  );
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 260, 52, 30, 12, 42];

/** Scores with their intervals over the length of the test. @param {Test} test */
function chart(test) {
  const curves = test.rows
    .map((row, place) => ({ agent: row.agent, style: place % STYLES, points: row.points ?? [] }))
    .filter((curve) => curve.points.length > 1);
  if (!curves.length) return null;
  const points = curves.flatMap((curve) => curve.points);
  const places = points.map((point) => Number(point[0]));
  const values = points.map((point) => Number(point[1]));
  const logarithmic = Math.min(...places) > 0 && Math.max(...places) > 8 * Math.min(...places);
  const along = logarithmic ? Math.log10 : (/** @type {number} */ place) => place;
  const [first, last] = [along(Math.min(...places)), along(Math.max(...places))];
  // Early intervals are very wide: what is drawn is the span of values, and as much again.
  const spread = Math.max(Math.max(...values) - Math.min(...values), 0.02);
  const ends = points.flatMap((point) => point.slice(2)).filter((end) => end !== null);
  const low = Math.max(Math.min(...values, ...ends.map(Number)), Math.min(...values) - spread);
  const high = Math.min(Math.max(...values, ...ends.map(Number)), Math.max(...values) + spread);
  const x = (/** @type {number} */ place) =>
    LEFT + ((WIDTH - LEFT - RIGHT) * (along(place) - first)) / (last - first || 1);
  const y = (/** @type {number} */ value) =>
    TOP + (HEIGHT - TOP - BOTTOM) * (1 - (Math.min(Math.max(value, low), high) - low) / (high - low || 1));
  const round = (/** @type {number} */ number) => number.toFixed(1);
  const grid = ticks(low, high).map((value) =>
    svg(
      "g",
      {},
      svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: round(y(value)), y2: round(y(value)) }),
      svg("text", { class: "tick end", x: LEFT - 6, y: round(y(value) + 4) }, String(+value.toPrecision(3))),
    ),
  );
  const marks = (logarithmic ? decades(first, last) : ticks(first, last)).map((place) =>
    svg("text", { class: "tick middle", x: round(x(place)), y: HEIGHT - BOTTOM + 18 }, (+place.toPrecision(3)).toLocaleString()),
  );
  const drawn = curves.flatMap(({ style, points: own }) => {
    const banded = own.filter((point) => point[2] !== null && point[3] !== null);
    const edge = (/** @type {number} */ side) =>
      banded.map((point) => `${round(x(Number(point[0])))},${round(y(Number(point[side])))}`);
    const band = [...edge(2), ...edge(3).reverse()].join(" ");
    const line = own.map((point) => `${round(x(Number(point[0])))},${round(y(Number(point[1])))}`);
    return [
      banded.length > 1 && svg("polygon", { class: `band c${style}`, points: band }),
      svg("polyline", { class: `curve c${style}`, points: line.join(" ") }),
    ];
  });
  const label = `Score of ${curves.map(({ agent }) => agent).join(", ")} over ${test.across}, with 95 % intervals`;
  return h(
    "figure",
    { class: "chart" },
    svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
      ...grid,
      ...marks,
      ...drawn,
      svg("text", { class: "tick middle", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 4 }, test.across),
    ),
    h("figcaption", { class: "quiet" }, "Score with 95 % interval. Each line is an agent of the table."),
  );
}

/** @param {number} low @param {number} high */
function ticks(low, high) {
  const rough = (high - low || 1) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 2.5, 5, 10].find((each) => each * unit >= rough) ?? 10);
  const values = [];
  for (let value = Math.ceil(low / step) * step; value <= high + 1e-12; value += step) values.push(value);
  return values;
}

/** @param {number} first @param {number} last Both are logarithms. */
function decades(first, last) {
  const every = [];
  for (let power = Math.floor(first); power <= last; power += 1) {
    for (const digit of last - first < 2 ? [1, 2, 5] : [1]) every.push(digit * 10 ** power);
  }
  return every.filter((place) => place >= 10 ** first * 0.999 && place <= 10 ** last * 1.001);
}
