/** A space of Lambda as a graph: cells are nodes, actions are labelled arrows; and the curve of rewards. */

import { svg } from "./page.js";

const WIDTH = 600;
const HEIGHT = 420;
const RADIUS = 26;
const NUDGE = 12;

/** @typedef {{x: number, y: number}} Point */

/**
 * What is known of the cells now; empty where the space is not the one that is played.
 * @typedef {object} Marks
 * @property {number[]} cells The reward in each cell.
 * @property {Record<string, number>} places Who is in which cell.
 * @property {Record<string, number>} intended Where who is about to go.
 */

/** Cells on an ellipse, from the top. @param {number} count @returns {Point[]} */
function around(count) {
  return Array.from({ length: count }, (_, cell) => {
    const turn = (2 * Math.PI * cell) / count - Math.PI / 2;
    return { x: WIDTH / 2 + 215 * Math.cos(turn), y: HEIGHT / 2 + 140 * Math.sin(turn) };
  });
}

export class SpaceGraph {
  /**
   * @param {HTMLElement} container
   * @param {(from: number, to: number) => void} onConnect Two cells were chosen, one after the other.
   */
  constructor(container, onConnect) {
    this.container = container;
    this.onConnect = onConnect;
    /** @type {number[][]} */ this.targets = [];
    /** @type {Point[]} */ this.points = [];
    /** @type {Marks} */ this.marks = { cells: [], places: {}, intended: {} };
    /** @type {Set<number>} */ this.wrong = new Set();
    /** @type {number | null} */ this.chosen = null;
  }

  /**
   * @param {number[][]} targets Where each action leads, from each cell.
   * @param {Marks} marks
   * @param {Set<number>} wrong Cells with an error.
   */
  show(targets, marks, wrong) {
    if (targets.length !== this.points.length) {
      this.points = around(targets.length);
      this.chosen = null;
    }
    this.targets = targets;
    this.marks = marks;
    this.wrong = wrong;
    this.draw();
  }

  draw() {
    const focused = document.activeElement?.getAttribute("data-cell");
    const own = this.container.contains(document.activeElement);
    const arrows = this.edges().map((edge) => this.drawEdge(edge));
    const intended = Object.entries(this.marks.intended).map(([who, to]) =>
      this.drawIntention(who, this.marks.places[who], to),
    );
    const nodes = this.points.map((_, cell) => this.drawCell(cell));
    const drawn = svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Graph of the space", class: "graph" },
      svg("defs", {}, arrowHead("head", "head"), arrowHead("head-Good", "head good"), arrowHead("head-Evil", "head evil")),
      ...arrows,
      ...intended,
      ...nodes,
    );
    this.container.replaceChildren(drawn);
    if (own && focused) nodes[Number(focused)]?.focus();
  }

  /** The arrows, each with the actions that it stands for. */
  edges() {
    /** @type {Map<string, {from: number, to: number, actions: number[]}>} */
    const known = new Map();
    this.targets.forEach((row, from) =>
      row.forEach((to, action) => {
        if (action === 0) return; // which stays everywhere
        const key = `${from} ${to}`;
        const edge = known.get(key) ?? { from, to, actions: [] };
        edge.actions.push(action);
        known.set(key, edge);
      }),
    );
    return [...known.values()];
  }

  /** @param {{from: number, to: number, actions: number[]}} edge */
  drawEdge({ from, to, actions }) {
    const label = actions.join(", ");
    const title = svg("title", {}, `Action ${label}: from cell ${from + 1} to cell ${to + 1}`);
    const { path, middle } = this.way(from, to, 0.16);
    return svg(
      "g",
      { class: "edge", "data-edge": `${from} ${to}` },
      title,
      svg("path", { d: path, "marker-end": "url(#head)" }),
      svg("text", { x: middle.x, y: middle.y }, label),
    );
  }

  /** @param {string} who @param {number} from @param {number} to */
  drawIntention(who, from, to) {
    const { path } = this.way(from, to, who === "Good" ? 0.3 : -0.1);
    const title = svg("title", {}, `${who} is about to go to cell ${to + 1}`);
    const side = who === "Good" ? "good" : "evil";
    return svg("path", { d: path, class: `intended ${side}`, "marker-end": `url(#head-${who})` }, title);
  }

  /**
   * The way from one cell to another, bent to one side; to itself, a loop.
   * @param {number} from
   * @param {number} to
   * @param {number} bend
   */
  way(from, to, bend) {
    const a = this.points[from];
    const b = this.points[to];
    if (from === to) {
      const side = a.y > HEIGHT / 2 ? 1 : -1;
      const tip = a.y + side * 62;
      const path = `M${a.x - 12} ${a.y + side * 24} C${a.x - 30} ${tip} ${a.x + 30} ${tip} ${a.x + 12} ${a.y + side * 26}`;
      return { path, middle: { x: a.x, y: a.y + side * 55 } };
    }
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const control = {
      x: (a.x + b.x) / 2 - bend * (b.y - a.y),
      y: (a.y + b.y) / 2 + bend * (b.x - a.x),
    };
    const start = towards(a, control, RADIUS + 1);
    const end = towards(b, control, RADIUS + 4);
    const middle = { x: (a.x + b.x) / 4 + control.x / 2, y: (a.y + b.y) / 4 + control.y / 2 };
    const path = `M${start.x} ${start.y} Q${control.x} ${control.y} ${end.x} ${end.y}`;
    return { path: length > 2 * RADIUS ? path : "", middle };
  }

  /** @param {number} cell */
  drawCell(cell) {
    const { x, y } = this.points[cell];
    const who = Object.keys(this.marks.places).filter((each) => this.marks.places[each] === cell);
    const paid = this.marks.cells[cell];
    const states = [this.wrong.has(cell) && "wrong", this.chosen === cell && "chosen"].filter(Boolean);
    const pay = paid === undefined ? [] : [`reward ${short(paid)}`];
    const pays = paid === undefined ? "" : paid > 0 ? "good" : paid < 0 ? "evil" : "even";
    const sides = new Map([["Good", "good"], ["Evil", "evil"]]);
    return svg(
      "g",
      {
        class: ["cell", ...states].join(" "),
        transform: `translate(${x} ${y})`,
        tabindex: 0,
        role: "button",
        "aria-label": [`Cell ${cell + 1}`, ...pay, ...who, ...states].join(", "),
        "data-cell": cell,
        onkeydown: (event) => this.press(event, cell),
        onpointerdown: (event) => this.grab(event, cell),
      },
      svg("circle", { r: RADIUS }),
      svg("text", { y: pays ? -7 : 0, class: "number" }, String(cell + 1)),
      pays && svg("text", { y: 10, class: `paid ${pays}` }, short(paid)),
      ...who.map((each, place) =>
        svg("text", { x: RADIUS + 4, y: -14 + 14 * place, class: `who ${sides.get(each)}` }, each),
      ),
    );
  }

  /** @param {KeyboardEvent} event @param {number} cell */
  press(event, cell) {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (by) this.move(cell, this.points[cell].x + NUDGE * by[0], this.points[cell].y + NUDGE * by[1]);
    else if (event.key === "Enter" || event.key === " ") this.choose(cell);
    else if (event.key === "Escape") this.choose(null);
    else return;
    event.preventDefault();
  }

  /** Drag a cell, or choose it if it is not moved. @param {PointerEvent} event @param {number} cell */
  grab(event, cell) {
    event.preventDefault();
    /** @type {SVGElement} */ (event.currentTarget).focus();
    const screen = /** @type {SVGSVGElement} */ (this.container.querySelector("svg")).getScreenCTM();
    if (!screen) return;
    let moved = false;
    const over = new AbortController();
    const { signal } = over;
    /** @param {PointerEvent} now */
    const drag = (now) => {
      moved ||= Math.hypot(now.clientX - event.clientX, now.clientY - event.clientY) > 5;
      if (!moved) return;
      const place = new DOMPoint(now.clientX, now.clientY).matrixTransform(screen.inverse());
      this.move(cell, place.x, place.y);
    };
    const stop = () => {
      over.abort();
      if (!moved) this.choose(cell);
    };
    addEventListener("pointermove", drag, { signal });
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, stop, { signal });
  }

  /** @param {number} cell @param {number} x @param {number} y */
  move(cell, x, y) {
    const inside = (/** @type {number} */ value, /** @type {number} */ most) =>
      Math.min(most - RADIUS - 4, Math.max(RADIUS + 4, value));
    this.points[cell] = { x: inside(x, WIDTH), y: inside(y, HEIGHT) };
    this.draw();
  }

  /** @param {number | null} cell */
  choose(cell) {
    const from = this.chosen;
    this.chosen = from === null ? cell : null;
    this.draw();
    if (from !== null && cell !== null) this.onConnect(from, cell);
  }
}

/** @param {string} id @param {string} classes */
function arrowHead(id, classes) {
  const at = { id, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 10, markerHeight: 10, orient: "auto" };
  return svg("marker", { ...at, markerUnits: "userSpaceOnUse" }, svg("path", { d: "M0 0 L10 5 L0 10 z", class: classes }));
}

/** @param {Point} from @param {Point} to @param {number} by @returns {Point} */
function towards(from, to, by) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  return { x: from.x + ((to.x - from.x) * by) / length, y: from.y + ((to.y - from.y) * by) / length };
}

/** A number in few digits. @param {number} value */
export function short(value) {
  return String(Number(value.toPrecision(3)));
}

const POINTS = 400;

/**
 * Rewards as points, their running average as a line, and where one is.
 * @param {number[]} rewards
 * @param {[number, number]} range
 * @param {number} step
 */
export function drawCurve(rewards, range, step) {
  const [width, height, left, edge] = [600, 160, 40, 10];
  const low = Math.min(range[0], 0, ...rewards.slice(-POINTS));
  const high = Math.max(range[1], 0, ...rewards.slice(-POINTS));
  const x = (/** @type {number} */ at) => left + ((width - left - edge) * at) / Math.max(1, rewards.length);
  const y = (/** @type {number} */ value) => edge + ((height - 2 * edge) * (high - value)) / (high - low || 1);
  let total = 0;
  const averages = rewards.map((reward, place) => (total += reward) / (place + 1));
  const each = Math.max(1, Math.ceil(rewards.length / POINTS));
  const kept = averages.map((_, place) => place).filter((place) => place % each === 0 || place === averages.length - 1);
  const line = kept.map((place, number) => `${number ? "L" : "M"}${x(place + 1)} ${y(averages[place])}`).join("");
  const now = averages[step - 1];
  const told = now === undefined ? "no steps yet" : `running average ${short(now)} after ${step} steps`;
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Rewards: ${told}`, class: "curve" },
    svg("line", { x1: left, x2: width - edge, y1: y(0), y2: y(0), class: "axis" }),
    ...[...new Set([high, 0, low])].map((value) => svg("text", { x: left - 6, y: y(value) }, short(value))),
    ...kept.map((place) => svg("circle", { cx: x(place + 1), cy: y(rewards[place]), r: 2, class: "reward-point" })),
    svg("path", { d: line, class: "average" }),
    svg("line", { x1: x(step), x2: x(step), y1: edge, y2: height - edge, class: "now" }),
  );
}
