/**
 * Research mode: draw or edit any environment, step it by hand or by agents, and watch what is hidden.
 * The server computes everything; this page shows it and asks for changes, one after the other.
 */

import { Refused, ask as askServer, attempt as attemptAt, byId, fetchTexts, h } from "./page.js";
import { drawScene } from "./scene.js";
import { drawCurve, short, SpaceGraph } from "./space-graph.js";

/** @typedef {{name: string, kind: string, choices: any[], required: boolean, default: any, about: string}} Field */
/** @typedef {{id: string, about: string, fields: Field[]}} Known */
/** @typedef {{field: string, message: string, advice: string, character: number | null, cell: number | null}} Wrong */

const HAND = "";
const EDIT_DELAY = 250;
const BUSY_DELAY = 700;
const SHOWN_MOVES = 200;
const PLAIN = { autocomplete: "off", spellcheck: "false" };
const NO_MARKS = { cells: [], places: {}, intended: {} };

/** @param {string} id @returns {HTMLInputElement} */
const input = (id) => byId(id);
/** @param {string} id @param {string} file Of this page. */
const link = (id, file) => byId(id).setAttribute("href", `/research/${page}/${file}`);
/** @param {string} id @param {string} text */
const write = (id, text) => (byId(id).textContent = text);

/** @type {{environments: Known[], agents: Known[]}} */ let catalogue;
/** @type {Record<string, string>} */ let texts = {};
let page = "";
/** @type {any} The last answer about the experiment. */ let live = null;
/** @type {[number, number, number][]} Who, action, reward. */ let moves = [];
/** @type {Record<string, any>} The instance as it is edited. */ let draft = {};
/** @type {{targets: number[][], errors: Wrong[]}} */ let space = { targets: [], errors: [] };
/** @type {import("./scene.js").Drawing | null} */ let scene = null;
let running = false;
/** Whether the battery would be lost with this page. */ let unsaved = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */ let waiting;
let queue = Promise.resolve();
const graph = new SpaceGraph(byId("graph"), (from, to) => {
  input("from").value = String(from);
  input("to").value = String(to);
  change({ cell: from, action: Number(input("action").value), target: to });
});

/**
 * Ask the server, after all that was asked before.
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
function ask(path, body) {
  const answer = queue.then(() => {
    const slow = setTimeout(() => write("busy", "Computing …"), BUSY_DELAY);
    return askServer(`/research/${path}`, body).finally(() => {
      clearTimeout(slow);
      write("busy", "");
    });
  });
  queue = answer.catch(() => undefined);
  return answer;
}

/** Do something, and say what the server refuses. @param {() => Promise<void>} work */
async function attempt(work) {
  if (!(await attemptAt(byId("said"), work))) pause();
}

// Forms

/**
 * Make the fields of a form; what is left empty has its default.
 * @param {HTMLElement} container
 * @param {Field[]} fields
 * @param {string} prefix
 */
function makeFields(container, fields, prefix) {
  const rows = fields.map(({ name, kind, required, default: given, choices, about }) => {
    const id = `${prefix}-${name}-about`;
    const common = { name, "aria-describedby": id, required };
    const preset = given === null ? "" : shownValue(given);
    const none = h("option", { value: "" }, preset ? `${preset} (default)` : "default");
    const values = kind === "truth" ? [true, false] : choices;
    const options = values.map((each) => h("option", { value: JSON.stringify(each) }, shownValue(each)));
    const type = kind === "number" ? "number" : "text";
    const placeholder = preset || (required ? "" : "default");
    const control =
      kind === "choice" || kind === "truth"
        ? h("select", common, none, ...options)
        : h("input", { ...common, ...PLAIN, type, step: "any", placeholder });
    return h("label", { class: "field" }, name, control, h("span", { class: "quiet", id }, about));
  });
  container.replaceChildren(...(rows.length ? rows : [h("p", { class: "quiet" }, "There are none.")]));
}

/** @param {any} value */
const shownValue = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** What was filled in. @param {HTMLElement} container @param {Field[]} fields */
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
  if (!part) throw new Refused(`There is no ${id}.`);
  return part;
}

function drawing() {
  const { id, fields } = known("environments", input("class").value);
  const complexity = input("complexity").value;
  return {
    environment: { id, parameters: readFields(byId("class-fields"), fields) },
    seed: Number(input("seed").value),
    complexity: complexity === "" ? null : Number(complexity),
  };
}

/** The class of the instance, with its parameters. */
const drawn = () => ({ id: live.environment.id, parameters: live.environment.parameters });

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
  for (const id of ["instance", "play", "behind", "save"]) byId(id).hidden = false;
  if (fresh) {
    write("label", told.environment.label);
    write("shown-complexity", short(told.complexity));
    write("shown-seed", `seed ${told.seed}`);
    setDraft(told.instance);
  }
  showPlay();
  showHidden();
  showGraph();
  const length = encodeURIComponent(input("interactions").value);
  link("save-instance", "instance.json");
  link("save-exercise", live.step ? "exercise.json" : `exercise.json?interactions=${length}`);
}

function showPlay() {
  const onAction = (/** @type {number} */ action) => attempt(() => act(action));
  scene = drawScene(byId("stage"), live.scene, { texts, onAction });
  write("step", `${live.step} of ${moves.length}`);
  const total = moves.slice(0, live.step).reduce((sum, move) => sum + move[2], 0);
  write("reward", short(live.reward));
  byId("average").textContent = live.step ? short(total / live.step) : "none yet";
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
  byId("facts").hidden = !rows.length;
  fill("facts", rows);
  byId("curve").replaceChildren(drawCurve(moves.map((move) => move[2]), live.range, live.step));
  fill("state", live.state.map(fieldRow));
  byId("mind").hidden = !live.agent;
  if (live.agent) {
    const values = live.agent.values?.map((/** @type {number} */ value, /** @type {number} */ action) => `action ${action}: ${short(value)}`);
    byId("values").textContent = `${live.agent.label}. ${values ? `Values of the actions now: ${values.join(", ")}.` : ""}`;
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
const fill = (id, rows) => /** @type {HTMLElement} */ (byId(id).querySelector("tbody")).replaceChildren(...rows);

/** @param {string} name @param {...string} cells */
const row = (name, ...cells) =>
  h("tr", {}, h("th", { scope: "row" }, name), ...cells.map((each) => h("td", {}, each)));

/** @param {{name: string, size: number, values: string[]}} field */
function fieldRow({ name, size, values }) {
  const more = size > values.length ? ` … (${size} in all)` : "";
  return row(name, values.join(" ") + more);
}

function showGraph() {
  const editor = byId("space-editor");
  editor.hidden = live.scene.kind !== "lambda";
  if (editor.hidden) return;
  const { cells } = live.hidden; // of the space that is played, which may not be the one that is shown
  const same = draft.space === live.instance.space && cells.length === space.targets.length;
  const wrong = new Set(space.errors.flatMap((each) => (each.cell === null ? [] : [each.cell])));
  byId("graph").hidden = !space.targets.length;
  graph.show(space.targets, same ? live.hidden : NO_MARKS, wrong);
}

// Acting

/** @param {number} action */
async function act(action) {
  pause();
  show(await ask(`${page}/step`, { action, known: live.step, views: wantsViews() }));
}

const wantsViews = () => /** @type {HTMLDetailsElement} */ (byId("views")).open;

/** Let the chosen agent act. @param {number} steps */
async function play(steps) {
  const { id, fields } = known("agents", input("who").value);
  const agent = { id, parameters: readFields(byId("agent-fields"), fields) };
  const told = await ask(`${page}/step`, { agent, steps, known: live.step, views: wantsViews() });
  show(told);
  const why = { stopped: "The agent has stopped.", "catching-up": "The agent lives through its past again.", time: "" };
  byId("note").textContent = why[/** @type {keyof typeof why} */ (told.ended)] ?? "";
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
  byId("run").textContent = running ? "Pause" : "Run";
  byId("run").setAttribute("aria-pressed", String(running));
}

/** @param {number} step */
async function go(step) {
  pause();
  show(await ask(`${page}/go`, { step, known: moves.length, views: wantsViews() }));
}

function chooseAgent() {
  const id = input("who").value;
  pause();
  byId("agent-parameters").hidden = id === HAND;
  for (const button of ["one", "run"]) input(button).disabled = id === HAND;
  const byHand = "Click the picture, or its buttons, to act.";
  byId("note").textContent = id === HAND ? byHand : "An agent that takes over knows only its own steps.";
  if (id === HAND) return;
  const { about, fields } = known("agents", id);
  write("agent-about", about);
  makeFields(byId("agent-fields"), fields, "agent");
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
  const values = { json: JSON.stringify(draft, null, 1), space: draft.space, pattern: draft.pattern };
  for (const [id, value] of Object.entries(values)) {
    if (input(id) !== document.activeElement) input(id).value = String(value ?? "");
  }
  const focused = byId("entries").contains(document.activeElement) ? document.activeElement : null;
  const names = Object.keys(draft).filter((name) => !isLong(draft[name]) && !isText(name));
  const rows = names.map((name) => {
    const value = draft[name];
    if (focused?.getAttribute("name") === name) return /** @type {Node} */ (focused.parentElement);
    const isTruth = typeof value === "boolean";
    const oninput = () => {
      const text = control.value.trim();
      const kept = typeof value === "string" ? text : readValue(text);
      draft[name] = isTruth ? control.checked : kept;
      edited();
    };
    const shown = isTruth ? { type: "checkbox", checked: value } : { value: shownValue(value), ...PLAIN };
    const control = h("input", { name, oninput, ...shown });
    return h("label", { class: isTruth ? "choice" : "field" }, name, control);
  });
  if (!focused) byId("entries").replaceChildren(...rows);
  byId("rules").hidden = !names.length;
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

/** Change the space, and write what becomes of it. @param {Record<string, number>} [how] */
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
  for (const control of byId("connection").querySelectorAll("button, select")) {
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
  byId(id).replaceChildren(...values.map((value) => h("option", { value }, name(value))));
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
  const verdict = byId("verdict");
  if (errors.length) {
    verdict.replaceChildren(...errors.map(shownError));
    return;
  }
  try {
    const told = await ask(`${page}/check`, { environment: drawn(), instance: draft });
    const text = changed ? `Valid, of complexity ${short(told.complexity)}. It is not in use yet.` : "";
    verdict.replaceChildren(h("p", { class: "quiet" }, text));
    input("use").disabled = !changed;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    verdict.replaceChildren(h("p", { class: "error" }, error.message));
  }
}

/** An error with the text around its place. @param {Wrong} error */
function shownError(error) {
  const shown = h("p", { class: "error" }, `${error.message} ${error.advice}`);
  if (error.character === null) return shown;
  const text = String(draft[error.field]);
  const from = Math.max(0, error.character - 20);
  const mark = h("mark", {}, text[error.character] ?? "␣");
  const place = h("code", {}, text.slice(from, error.character), mark, text.slice(error.character + 1, error.character + 21));
  shown.append(h("br"), place);
  return shown;
}

// The battery

/** @param {object} what */
async function changeBattery(what) {
  const told = await ask(`${page}/battery`, { title: input("battery-title").value.trim() || "My battery", ...what });
  const rows = told.exercises.map((/** @type {any} */ each, /** @type {number} */ place) => {
    const onclick = () => attempt(() => changeBattery({ remove: place }));
    const remove = h("button", { type: "button", class: "link", onclick }, "Remove");
    return h("li", {}, `${each.label}, ${each.interactions} interactions `, remove);
  });
  byId("battery-list").replaceChildren(...rows);
  byId("battery-box").hidden = !rows.length;
  link("save-battery", "battery.json");
  unsaved = rows.length > 0;
}

// The page

/** @param {string} id @param {string} event @param {(event: Event) => void} listener */
const on = (id, event, listener) => byId(id).addEventListener(event, listener);

function listen() {
  const chooseClass = () => {
    const { about, fields } = known("environments", input("class").value);
    write("class-about", about);
    makeFields(byId("class-fields"), fields, "class");
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
  on("use", "click", () => attempt(() => begin({ environment: drawn(), seed: live.seed, instance: draft })));
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
      byId("verdict").replaceChildren(h("p", { class: "error" }, "This is not a JSON object."));
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
    if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey && scene?.press(event)) event.preventDefault();
  });
  on("save-battery", "click", () => (unsaved = false));
  addEventListener("beforeunload", (event) => unsaved && event.preventDefault());
  on("battery-title", "change", () => attempt(() => changeBattery({ remove: 1_000_000 })));
  on("interactions", "change", () => live && show({ ...live, known: 0, moves }));
}

async function start() {
  ({ texts } = await fetchTexts([]));
  catalogue = await ask("catalogue");
  ({ page } = await ask("open", {}));
  byId("class").append(...catalogue.environments.map(({ id }) => h("option", {}, id)));
  input("class").value = "lambda-v1";
  const agents = catalogue.agents.map(({ id }) => h("option", {}, id));
  byId("who").append(h("option", { value: HAND }, "by hand"), ...agents);
  listen();
  await begin(drawing());
}

attempt(start);
