/**
 * Research mode: draw or edit any environment, step it by hand or by agents, and watch what is hidden.
 * The server computes everything; this page shows it and asks for changes, one after the other.
 */

import { drawScene } from "./scene.js";
import { drawCurve, short, SpaceGraph } from "./space-graph.js";
import { element } from "./texts.js";

/** @typedef {{name: string, kind: string, choices: any[], required: boolean, default: any, about: string}} Field */
/** @typedef {{id: string, about: string, fields: Field[]}} Known */
/** @typedef {{field: string, message: string, advice: string, character: number | null, cell: number | null}} Wrong */

const HAND = "";
const EDIT_DELAY = 250;
const BUSY_DELAY = 700;
const SHOWN_MOVES = 200;
const NO_MARKS = { cells: [], places: {}, intended: {} };

/** @template {HTMLElement} T @param {string} id @returns {T} */
const $ = (id) => /** @type {T} */ (document.getElementById(id));
/** @param {string} id @returns {HTMLInputElement} */
const input = (id) => $(id);

/** @type {{environments: Known[], agents: Known[]}} */ let catalogue;
/** @type {Record<string, string>} */ let texts = {};
let page = "";
/** @type {any} The last answer about the experiment. */ let live = null;
/** @type {[number, number, number][]} Who, action, reward. */ let moves = [];
/** @type {Record<string, any>} The instance as it is edited. */ let draft = {};
/** @type {{targets: number[][], errors: Wrong[]}} */ let space = { targets: [], errors: [] };
/** @type {import("./scene.js").Drawing | null} */ let drawn = null;
let running = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */ let waiting;
let queue = Promise.resolve();
const graph = new SpaceGraph($("graph"), (from, to) => {
  input("from").value = String(from);
  input("to").value = String(to);
  change({ cell: from, action: Number(input("action").value), target: to });
});

/**
 * Ask the server, after all that was asked before; what it refuses is thrown.
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
function ask(path, body) {
  const answer = queue.then(async () => {
    const request = body && {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    };
    const slow = setTimeout(() => ($("busy").textContent = "Computing …"), BUSY_DELAY);
    const told = await fetch(`/research/${path}`, request).catch(() => null);
    clearTimeout(slow);
    $("busy").textContent = "";
    if (!told) throw new Error("The server does not answer.");
    const data = await told.json().catch(() => ({}));
    if (told.ok) return data;
    const detail = data.detail ?? told.statusText;
    const list = Array.isArray(detail) ? detail : [{ msg: detail }];
    throw new Error(list.map((/** @type {any} */ each) => [...(each.loc ?? []).slice(1), each.msg].join(" ")).join("; "));
  });
  queue = answer.catch(() => undefined);
  return answer;
}

/** Do something, and say what the server refuses. @param {() => Promise<void>} work */
async function attempt(work) {
  try {
    await work();
    tell("");
  } catch (error) {
    pause();
    tell(error instanceof Error ? error.message : String(error));
  }
}

/** @param {string} text */
function tell(text) {
  $("said").textContent = text;
  $("said").hidden = !text;
}

// Forms

/**
 * Make the fields of a form; what is left empty has its default.
 * @param {HTMLElement} container
 * @param {Field[]} fields
 * @param {string} prefix
 */
function makeFields(container, fields, prefix) {
  const rows = fields.map((field) => {
    const id = `${prefix}-${field.name}`;
    const about = element("span", { class: "about", id: `${id}-about` }, field.about);
    const common = { id, name: field.name, "aria-describedby": `${id}-about`, required: field.required };
    const preset = field.default === null ? "" : shownValue(field.default);
    const choices = field.kind === "truth" ? [true, false] : field.choices;
    const control =
      field.kind === "choice" || field.kind === "truth"
        ? element(
            "select",
            common,
            element("option", { value: "" }, preset ? `${preset} (default)` : "default"),
            ...choices.map((each) => element("option", { value: JSON.stringify(each) }, shownValue(each))),
          )
        : element("input", {
            ...common,
            type: field.kind === "number" ? "number" : "text",
            step: "any",
            placeholder: preset || (field.required ? "" : "default"),
            autocomplete: "off",
            spellcheck: "false",
          });
    return element("label", { class: "field wide" }, field.name, control, about);
  });
  container.replaceChildren(...(rows.length ? rows : [element("p", { class: "about" }, "There are none.")]));
}

/** @param {any} value */
const shownValue = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/**
 * What was filled in.
 * @param {HTMLElement} container
 * @param {Field[]} fields
 */
function readFields(container, fields) {
  /** @type {Record<string, any>} */ const given = {};
  for (const field of fields) {
    const control = /** @type {HTMLInputElement} */ (container.querySelector(`[name="${field.name}"]`));
    const text = control.value.trim();
    if (text) given[field.name] = field.kind === "text" ? text : readValue(text);
  }
  return given;
}

/** JSON, or the text itself. @param {string} text */
function readValue(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @param {"environments" | "agents"} kind @param {string} id @returns {Known} */
function known(kind, id) {
  const part = catalogue[kind].find((each) => each.id === id);
  if (!part) throw new Error(`There is no ${id}.`);
  return part;
}

function drawing() {
  const { id, fields } = known("environments", input("class").value);
  const complexity = input("complexity").value;
  return {
    environment: { id, parameters: readFields($("class-fields"), fields) },
    seed: Number(input("seed").value),
    complexity: complexity === "" ? null : Number(complexity),
  };
}

/** @param {object} given */
async function begin(given) {
  pause();
  show(await ask(`${page}/begin`, given), true);
}

// What is shown

/**
 * Show what the server says of the experiment.
 * @param {any} told
 * @param {boolean} [fresh] Whether it is another environment.
 */
function show(told, fresh = false) {
  live = told;
  moves = [...moves.slice(0, told.known), ...told.moves];
  for (const id of ["instance", "play", "behind", "save"]) $(id).hidden = false;
  if (fresh) {
    $("label").textContent = told.environment.label;
    $("shown-complexity").textContent = short(told.complexity);
    $("shown-seed").textContent = `seed ${told.seed}`;
    setDraft(told.instance);
  }
  showPlay();
  showHidden();
  showGraph();
  const length = encodeURIComponent(input("interactions").value);
  /** @type {HTMLAnchorElement} */ ($("save-instance")).href = `/research/${page}/instance.json`;
  const exercise = `/research/${page}/exercise.json${live.step ? "" : `?interactions=${length}`}`;
  /** @type {HTMLAnchorElement} */ ($("save-exercise")).href = exercise;
}

function showPlay() {
  drawn = drawScene($("stage"), live.scene, { texts, onAction: (action) => attempt(() => act(action)), enabled: true });
  $("step").textContent = `${live.step} of ${moves.length}`;
  const total = moves.slice(0, live.step).reduce((sum, move) => sum + move[2], 0);
  $("reward").textContent = short(live.reward);
  $("average").textContent = live.step ? short(total / live.step) : "none yet";
  const slider = input("slider");
  slider.max = String(moves.length);
  slider.value = String(live.step);
  for (const id of ["first", "back"]) input(id).disabled = live.step === 0;
  input("last").disabled = live.step === moves.length;
}

function showHidden() {
  const { facts, cells, places, intended } = live.hidden;
  const rows = Object.entries(facts).map(([name, value]) => row(name, shownValue(value)));
  if (cells.length) rows.push(row("rewards in cells", cells.map(short).join("  ")));
  for (const [who, cell] of Object.entries(places)) {
    const next = intended[who] === undefined ? "" : `, about to go to cell ${intended[who] + 1}`;
    rows.push(row(`${who} is in`, `cell ${cell + 1}${next}`));
  }
  $("facts").hidden = !rows.length;
  fill("facts", rows);
  $("curve").replaceChildren(drawCurve(moves.map((move) => move[2]), live.range, live.step));
  fill("state", live.state.map(fieldRow));
  $("mind").hidden = !live.agent;
  if (live.agent) {
    const values = live.agent.values?.map((/** @type {number} */ value, /** @type {number} */ action) => `action ${action}: ${short(value)}`);
    $("values").textContent = `${live.agent.label}. ${values ? `Values of the actions now: ${values.join(", ")}.` : ""}`;
    fill("agent-state", live.agent.fields.map(fieldRow));
  }
  fill(
    "observations",
    live.views.map((/** @type {any} */ each) => row(each.view ?? "the only view", each.observation.join(" "))),
  );
  const from = Math.max(0, live.step - SHOWN_MOVES);
  const done = moves.slice(from, live.step).map(([who, action, reward], place) =>
    row(String(from + place + 1), live.who[who] || "by hand", String(action), short(reward)),
  );
  fill("moves", done.reverse());
}

/** @param {string} id @param {Node[]} rows */
const fill = (id, rows) => /** @type {HTMLElement} */ ($(id).querySelector("tbody")).replaceChildren(...rows);

/** @param {string} name @param {...string} cells */
const row = (name, ...cells) =>
  element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((each) => element("td", {}, each)));

/** @param {{name: string, size: number, values: string[]}} field */
function fieldRow({ name, size, values }) {
  const more = size > values.length ? ` … (${size} in all)` : "";
  return row(name, values.join(" ") + more);
}

function showGraph() {
  const editor = $("space-editor");
  editor.hidden = live.scene.kind !== "lambda";
  if (editor.hidden) return;
  const same = draft.space === live.instance.space;
  const wrong = new Set(space.errors.flatMap((each) => (each.cell === null ? [] : [each.cell])));
  $("graph").hidden = !space.targets.length;
  graph.show(space.targets, same ? live.hidden : NO_MARKS, wrong);
}

// Acting

/** @param {number} action */
async function act(action) {
  pause();
  show(await ask(`${page}/step`, { action, known: live.step, views: wantsViews() }));
}

const wantsViews = () => /** @type {HTMLDetailsElement} */ ($("views")).open;

/** Let the chosen agent act. @param {number} steps */
async function play(steps) {
  const { id, fields } = known("agents", input("who").value);
  const agent = { id, parameters: readFields($("agent-fields"), fields) };
  const told = await ask(`${page}/step`, { agent, steps, known: live.step, views: wantsViews() });
  show(told);
  const why = { stopped: "The agent has stopped.", "catching-up": "The agent lives through its past again.", time: "" };
  $("note").textContent = why[/** @type {keyof typeof why} */ (told.ended)] ?? "";
  if (told.ended === "stopped") pause();
}

async function run() {
  running = true;
  showRunning();
  while (running) {
    const rate = Number(input("speed").value);
    const begun = performance.now();
    await attempt(() => play(Math.max(1, Math.round(rate / 10))));
    const left = 1000 / Math.min(rate, 10) - (performance.now() - begun);
    if (running) await new Promise((resume) => setTimeout(resume, Math.max(0, left)));
  }
}

function pause() {
  running = false;
  showRunning();
}

function showRunning() {
  $("run").textContent = running ? "Pause" : "Run";
  $("run").setAttribute("aria-pressed", String(running));
}

/** @param {number} step */
async function go(step) {
  pause();
  show(await ask(`${page}/go`, { step, known: moves.length, views: wantsViews() }));
}

function chooseAgent() {
  const id = input("who").value;
  pause();
  $("agent-parameters").hidden = id === HAND;
  for (const button of ["one", "run"]) input(button).disabled = id === HAND;
  const byHand = "Click the picture, or its buttons, to act.";
  $("note").textContent = id === HAND ? byHand : "An agent that takes over knows only its own steps.";
  if (id === HAND) return;
  const { about, fields } = known("agents", id);
  $("agent-about").textContent = about;
  makeFields($("agent-fields"), fields, "agent");
}

// Editing

/** Take over an instance, in all forms. @param {Record<string, any>} instance */
function setDraft(instance) {
  draft = structuredClone(instance);
  writeDraft();
  edited();
}

/** Write the draft into the forms, but not into the one that is being typed in. */
function writeDraft() {
  /** @param {HTMLInputElement} control @param {string} text */
  const write = (control, text) => {
    if (control !== document.activeElement) control.value = text;
  };
  write(input("json"), JSON.stringify(draft, null, 1));
  if (live.scene.kind === "lambda") {
    write(input("space"), String(draft.space ?? ""));
    write(input("pattern"), String(draft.pattern ?? ""));
  }
  const focused = $("entries").contains(document.activeElement) ? document.activeElement : null;
  const names = Object.keys(draft).filter((name) => !isLong(draft[name]) && !isText(name));
  const rows = names.map((name) => {
    const value = draft[name];
    if (focused?.getAttribute("name") === name) return /** @type {Node} */ (focused.parentElement);
    const control =
      typeof value === "boolean"
        ? element("input", { name, type: "checkbox", checked: value })
        : element("input", { name, value: shownValue(value), autocomplete: "off", spellcheck: "false" });
    control.addEventListener("input", () => {
      const text = control.value.trim();
      const kept = typeof value === "string" ? text : readValue(text);
      draft[name] = typeof value === "boolean" ? control.checked : kept;
      edited();
    });
    return element("label", { class: "field wide" }, name, control);
  });
  if (!focused) $("entries").replaceChildren(...rows);
  $("rules").hidden = !names.length;
}

/** @param {any} value */
const isLong = (value) => JSON.stringify(value).length > 200;
/** @param {string} name */
const isText = (name) => live.scene.kind === "lambda" && (name === "space" || name === "pattern");

/** The draft has changed: check it a moment later. */
function edited() {
  input("use").disabled = true;
  writeDraft();
  clearTimeout(waiting);
  waiting = setTimeout(() => attempt(check), EDIT_DELAY);
}

/**
 * Change the space, and write what becomes of it.
 * @param {Record<string, number>} [how]
 */
function change(how = {}) {
  return attempt(async () => {
    const told = await askSpace(how);
    if (told.description !== draft.space) {
      draft.space = told.description;
      input("space").value = told.description;
      edited();
    }
    takeSpace(told);
  });
}

/** @param {Record<string, number>} how */
const askSpace = (how) => ask("space", { description: String(draft.space ?? ""), pattern: String(draft.pattern ?? ""), ...how });

/** @param {any} told */
function takeSpace(told) {
  space = told;
  const cells = Array.from(told.targets, (_, cell) => cell);
  const actions = cells.length ? told.targets[0].length - 1 : 0;
  const numbers = Array.from({ length: actions }, (_, place) => place + 1);
  options("action", numbers, String);
  for (const id of ["from", "to"]) options(id, cells, (cell) => `cell ${cell + 1}`);
  for (const control of $("connection").querySelectorAll("button, select")) {
    /** @type {HTMLButtonElement} */ (control).disabled = !cells.length;
  }
  input("fewer-cells").disabled = cells.length < 3;
  input("fewer-actions").disabled = actions < 2;
  for (const id of ["more-cells", "more-actions"]) input(id).disabled = !cells.length;
  showGraph();
}

/** @param {string} id @param {number[]} values @param {(value: number) => string} name */
function options(id, values, name) {
  const chosen = input(id).value;
  $(id).replaceChildren(...values.map((value) => element("option", { value }, name(value))));
  if (values.includes(Number(chosen)) && chosen) input(id).value = chosen;
}

/** Ask whether the draft can be built, and say what is wrong where. */
async function check() {
  /** @type {Wrong[]} */ let errors = [];
  if (live.scene.kind === "lambda") {
    const told = await askSpace({});
    takeSpace(told);
    errors = told.errors;
  }
  for (const id of ["space", "pattern"]) {
    input(id).setAttribute("aria-invalid", String(errors.some((each) => each.field === id)));
  }
  const changed = JSON.stringify(draft) !== JSON.stringify(live.instance);
  const verdict = $("verdict");
  if (errors.length) {
    verdict.replaceChildren(...errors.map(shownError));
    return;
  }
  try {
    const { id, parameters } = live.environment;
    const told = await ask(`${page}/check`, { environment: { id, parameters }, instance: draft });
    const text = changed ? `Valid, of complexity ${short(told.complexity)}. It is not in use yet.` : "";
    verdict.replaceChildren(element("p", { class: "about" }, text));
    input("use").disabled = !changed;
  } catch (error) {
    verdict.replaceChildren(element("p", { class: "wrong" }, error instanceof Error ? error.message : ""));
  }
}

/** An error with the text around its place. @param {Wrong} error */
function shownError(error) {
  const shown = element("p", { class: "wrong" }, `${error.message} ${error.advice}`);
  if (error.character === null) return shown;
  const text = String(draft[error.field]);
  const from = Math.max(0, error.character - 20);
  const mark = element("mark", {}, text[error.character] ?? "␣");
  const place = element("code", {}, text.slice(from, error.character), mark, text.slice(error.character + 1, error.character + 21));
  shown.append(element("br"), place);
  return shown;
}

// The battery

/** @param {object} what */
async function changeBattery(what) {
  const told = await ask(`${page}/battery`, { title: input("battery-title").value.trim() || "My battery", ...what });
  const rows = told.exercises.map((/** @type {any} */ each, /** @type {number} */ place) =>
    element(
      "li",
      {},
      `${each.label}, ${each.interactions} interactions `,
      element("button", { type: "button", class: "link", click: () => attempt(() => changeBattery({ remove: place })) }, "Remove"),
    ),
  );
  $("battery-list").replaceChildren(...rows);
  $("battery-box").hidden = !rows.length;
  /** @type {HTMLAnchorElement} */ ($("save-battery")).href = `/research/${page}/battery.json`;
}

// The page

/** @param {string} id @param {string} event @param {(event: Event) => void} listener */
const on = (id, event, listener) => $(id).addEventListener(event, listener);

function listen() {
  const chooseClass = () => {
    const { about, fields } = known("environments", input("class").value);
    $("class-about").textContent = about;
    makeFields($("class-fields"), fields, "class");
  };
  on("class", "change", chooseClass);
  chooseClass();
  on("setup", "submit", (event) => {
    event.preventDefault();
    attempt(() => begin(drawing()));
  });
  on("next-seed", "click", () => {
    input("seed").value = String(Number(input("seed").value) + 1);
    attempt(() => begin(drawing()));
  });
  on("use", "click", () => attempt(() => begin({ environment: pick(live.environment), seed: live.seed, instance: draft })));
  for (const id of ["space", "pattern"]) {
    on(id, "input", () => {
      draft[id] = input(id).value.trim();
      edited();
    });
  }
  on("json", "input", () => {
    const value = readValue(input("json").value);
    if (value === null || typeof value !== "object" || Array.isArray(value)) {
      clearTimeout(waiting);
      input("use").disabled = true;
      $("verdict").replaceChildren(element("p", { class: "wrong" }, "This is not a JSON object."));
      return;
    }
    draft = value;
    edited();
  });
  const connection = () => ({ cell: Number(input("from").value), action: Number(input("action").value) });
  on("connect", "click", () => change({ ...connection(), target: Number(input("to").value) }));
  on("disconnect", "click", () => change({ ...connection(), target: Number(input("from").value) }));
  on("more-cells", "click", () => change({ cells: space.targets.length + 1 }));
  on("fewer-cells", "click", () => change({ cells: space.targets.length - 1 }));
  on("more-actions", "click", () => change({ actions: space.targets[0].length + 1 }));
  on("fewer-actions", "click", () => change({ actions: space.targets[0].length - 1 }));
  on("who", "change", chooseAgent);
  chooseAgent();
  on("one", "click", () => {
    pause();
    attempt(() => play(1));
  });
  on("run", "click", () => (running ? pause() : run()));
  on("first", "click", () => attempt(() => go(0)));
  on("back", "click", () => attempt(() => go(Math.max(0, live.step - 1))));
  on("last", "click", () => attempt(() => go(moves.length)));
  on("slider", "change", () => attempt(() => go(Number(input("slider").value))));
  on("views", "toggle", () => {
    if (!wantsViews()) return;
    fill("observations", [row("Computing …")]);
    attempt(() => go(live.step));
  });
  on("battery", "submit", (event) => {
    event.preventDefault();
    attempt(() => changeBattery({ interactions: Number(input("interactions").value) }));
  });
  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    const typing = target.matches("input, select, textarea, summary, [data-cell]");
    if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey && drawn?.press(event)) event.preventDefault();
  });
  on("battery-title", "change", () => attempt(() => changeBattery({ remove: 1_000_000 })));
  on("interactions", "change", () => live && show({ ...live, known: 0, moves }));
}

/** @param {{id: string, parameters: object}} environment */
const pick = ({ id, parameters }) => ({ id, parameters });

async function start() {
  const words = await fetch("/static/locales/en.json");
  texts = words.ok ? await words.json() : {};
  catalogue = await ask("catalogue");
  ({ page } = await ask("open", {}));
  $("class").append(...catalogue.environments.map(({ id }) => element("option", {}, id)));
  input("class").value = "lambda-v1";
  const agents = catalogue.agents.map(({ id }) => element("option", {}, id));
  $("who").append(element("option", { value: HAND }, "by hand"), ...agents);
  listen();
  await begin(drawing());
}

attempt(start);
