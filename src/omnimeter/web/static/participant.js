/** The page of a participant: it shows what the server says, and sends answers. */

import { goodbye, watchInput } from "./at-kiosk.js";
import { Connection } from "./connection.js";
import { ask, byId, h, say, tell } from "./page.js";
import { describeReward, drawReward, drawScene } from "./scene.js";

/** @typedef {import("./connection.js").Message} Message */
/** @typedef {import("./connection.js").State} State */

/**
 * @typedef {object} Question
 * @property {string} name
 * @property {string} text
 * @property {"scale" | "choice" | "text"} kind
 * @property {string[]} [options]
 * @property {number} steps
 * @property {boolean} [required]
 */

/**
 * @typedef {object} Study What the pages of a study say.
 * @property {string} language
 * @property {string} title
 * @property {import("./page.js").Texts} texts
 * @property {boolean} timed Whether time counts.
 * @property {string} instructions
 * @property {string} consent
 * @property {Question[]} questions
 */

const DOUBLE_CLICK = 350; // milliseconds within which a second click is no answer of its own
const OWN = location.pathname.replace(/\/$/, "");
const DRAFT = `answers ${OWN}`;
const LONG = 3_000; // milliseconds after which it is said why nothing is to be seen yet

const main = byId("main");
const notice = byId("notice");
const withdrawal = byId("withdraw");
/** @type {HTMLDialogElement} */ const dialog = byId("leaving");

const study = await fetchStudy();
/** @param {string} key @param {Record<string, string | number>} [values] */
const text = (key, values) => say(study.texts, key, values);

document.documentElement.lang = study.language;
document.title = study.title;
byId("title").textContent = study.title;
withdrawal.textContent = text("withdraw-link");
withdrawal.addEventListener("click", askToWithdraw);

/** @type {import("./scene.js").Drawing | null} */ let drawing = null;
/** @type {State | null} */ let state = null;
let isConnected = false;
let shownKey = ""; // what is on the page
let painted = NaN; // when the scene was first seen, on the page's own clock
let lastClick = -Infinity;
let waiting = false; // for an answer to count
let slow = 0;

const connection = new Connection(`${OWN}/ws`, { onState, onStatus, onRefused });
document.addEventListener("keydown", onKey);
document.addEventListener("pointerdown", () => (document.documentElement.dataset.input = "pointer"));
watchInput(text);

/** @returns {Promise<Study>} */
async function fetchStudy() {
  for (let delay = 500; ; delay = Math.min(8_000, 2 * delay)) {
    try {
      const answer = await fetch(`${OWN}/texts`);
      if (answer.ok) return await answer.json();
      if (answer.status === 404) location.reload(); // the participant has withdrawn meanwhile
    } catch {
      notice.textContent = "…"; // there are no words yet
    }
    await new Promise((done) => setTimeout(done, delay));
    notice.textContent = "";
  }
}

/** @param {State} now @param {boolean} pending */
function onState(now, pending) {
  state = now;
  waiting = pending;
  show();
}

/** @param {import("./page.js").Status} now */
function onStatus(now) {
  isConnected = now === "open";
  const isPassing = now === "lost" || now === "crowded";
  notice.textContent = isPassing ? text(`connection-${now}`) : "";
  if (!isConnected && !isPassing) {
    shownKey = now;
    clearPage();
    withdrawal.hidden = now === "unknown";
    main.replaceChildren(...notes(now), ...(now === "trouble" ? [] : goodbye(text)));
    focusHeading();
  }
  enable();
}

/** @param {string} why */
function onRefused(why) {
  waiting = false;
  notice.textContent = text("refused", { why });
  enable();
}

/** Whether something can be answered now. */
const isOpen = () => isConnected && !waiting && (state?.stage !== "test" || state.phase !== "busy");

/** Let answers be given, or not. */
function enable() {
  const open = isOpen();
  drawing?.enable(open && state?.phase === "asked");
  for (const each of main.querySelectorAll("button[data-answer]")) {
    each.setAttribute("aria-disabled", String(!open));
  }
}

/**
 * Give an answer, unless one is under way or it is the second click of a double one.
 * @param {Message} message
 * @param {Event} event
 */
function answer(message, event) {
  const isClick = event instanceof MouseEvent && event.detail > 0;
  if (isClick && event.timeStamp - lastClick < DOUBLE_CLICK) return;
  if (!isOpen()) return;
  if (isClick) lastClick = event.timeStamp;
  waiting = true;
  notice.textContent = "";
  enable();
  connection.answer(message);
  explainWait();
}

/** Say after some seconds that the first exercise may have to be prepared. */
function explainWait() {
  clearTimeout(slow);
  slow = window.setTimeout(() => {
    const isBusy = waiting || state?.phase === "busy";
    if (!isConnected || state?.stage !== "test" || drawing || !isBusy) return;
    main.append(h("p", { class: "quiet", role: "status" }, text("moment-long")));
  }, LONG);
}

/** Show the stage, unless it is on the page already. */
function show() {
  if (!state) return;
  const { stage, phase, seq, last } = state;
  const isTest = stage === "test";
  const key = isTest ? `${stage} ${phase} ${seq}` : stage;
  if (key !== shownKey && !(isTest && phase === "busy" && drawing)) {
    const before = shownKey;
    shownKey = key;
    withdrawal.hidden = stage === "withdrawn";
    if (stage === "withdrawn" || stage === "thanks") sessionStorage.removeItem(DRAFT);
    if (isTest && phase === "asked") showExercise(state);
    else {
      clearPage();
      main.replaceChildren(...(isTest ? between(state) : stageOf(stage)));
      if (last && before.startsWith("test")) main.querySelector("h1 + p")?.after(lastOf(last));
      if (before) focusHeading();
    }
  }
  enable();
}

/** Take away what belongs to an exercise. */
function clearPage() {
  drawing = null;
  byId("said").textContent = "";
}

/** @param {string} stage @returns {HTMLElement[]} */
function stageOf(stage) {
  if (stage === "consent") return consent();
  if (stage === "instructions") return instructions();
  if (stage === "questionnaire") return questionnaire();
  const back = answerButton("declined-back", { type: "consent", given: true }, "");
  return [...notes(stage), ...(stage === "declined" ? [actions(back)] : []), ...goodbye(text)];
}

/** A heading and a text. @param {string} name @returns {HTMLElement[]} */
function notes(name) {
  return [heading(text(`${name}-title`)), h("p", {}, text(`${name}-text`))];
}

/** @param {string} words */
const heading = (words) => h("h1", { tabindex: -1 }, words);

function focusHeading() {
  main.querySelector("h1")?.focus();
  scrollTo(0, 0);
}

/**
 * A text of an experimenter as paragraphs: an empty line separates them.
 * @param {string} text
 * @returns {HTMLElement[]}
 */
function paragraphs(text) {
  const parts = text.split(/\n\s*\n/).filter((each) => each.trim());
  return parts.map((each) => h("p", { class: "given" }, each.trim()));
}

/** @param {...HTMLElement} buttons */
const actions = (...buttons) => h("div", { class: "actions" }, ...buttons);

/** @param {string} key @param {Message} message @param {string} [kind] */
function answerButton(key, message, kind = "main") {
  const onclick = (/** @type {Event} */ event) => answer(message, event);
  return h("button", { type: "button", class: kind, "data-answer": true, onclick }, text(key));
}

function consent() {
  return [
    heading(text("consent-title")),
    ...paragraphs(study.consent),
    actions(
      answerButton("consent-agree", { type: "consent", given: true }),
      answerButton("consent-decline", { type: "consent", given: false }, ""),
    ),
  ];
}

function instructions() {
  const item = (/** @type {string} */ name) =>
    h("li", {}, text(`instructions-${name}`), name === "rewards" && legend());
  const standard = ["series", "rewards", study.timed ? "time" : "speed", "symbol"].map(item);
  const acting = ["pointer", "touch", "keyboard"].map(item);
  const given = paragraphs(study.instructions);
  return [
    heading(text("instructions-title")),
    ...(given.length ? given : [h("ul", { class: "spaced" }, ...standard)]),
    h("h2", {}, text("instructions-acting")),
    h("ul", {}, ...acting),
    actions(answerButton("instructions-done", { type: "instructed" })),
  ];
}

/** What the three signs of rewards mean. */
function legend() {
  const signs = /** @type {const} */ (["up", "neutral", "down"]).map((sign) => {
    const drawn = drawReward({ sign }, study.texts, study.language);
    drawn.setAttribute("aria-hidden", "true");
    return h("span", { class: "meaning" }, drawn, text(`reward-${sign}`));
  });
  return h("span", { class: "legend" }, ...signs);
}

/** @param {State} now @returns {HTMLElement[]} */
function between(now) {
  if (now.trouble) return notes("trouble");
  if (now.phase !== "ready" || now.seq === undefined) {
    explainWait();
    return [h("p", { class: "quiet" }, text("moment"))];
  }
  const rest = now.break ? "break" : "ready";
  const { reward, scene } = now;
  return [
    h("p", { class: "quiet" }, exerciseName(now)),
    heading(text(`${rest}-title`)),
    h("p", {}, text(study.timed ? `${rest}-timed` : `${rest}-text`)),
    actions(answerButton(`${rest}-start`, { type: "ready", seq: now.seq })),
    ...(reward && scene ? [lastOf({ reward, scene })] : []),
  ];
}

/** What the last action of an exercise brought. @param {NonNullable<State["last"]>} last */
function lastOf({ reward, scene }) {
  const place = h("div", { class: "stage seen" });
  if (scene) drawScene(place, scene, { texts: study.texts });
  const shown = h("p", { class: "outcome" }, drawReward(reward, study.texts, study.language));
  return h("section", { class: "last" }, h("h2", {}, text("last-title")), shown, place);
}

/** @param {State} now */
function exerciseName(now) {
  const { exercise = 0, of = 0 } = now;
  return text(of ? "exercise-of" : "exercise", { exercise, of });
}

/** Draw what is asked, and note when it is seen. @param {State} now */
function showExercise(now) {
  const { seq = 0, scene, reward } = now;
  if (!scene) return;
  const isFirst = !drawing;
  if (isFirst) {
    const head = [heading(exerciseName(now)), h("p", { class: "outcome" })];
    main.replaceChildren(h("div", { class: "exercise" }, ...head), h("div", { class: "stage" }));
  }
  const shown = reward ? [drawReward(reward, study.texts, study.language)] : [];
  main.querySelector(".outcome")?.replaceChildren(...shown);
  const place = /** @type {Element} */ (main.querySelector(".stage"));
  drawing = drawScene(place, scene, {
    texts: study.texts,
    onAction: (action, event) => act(seq, action, event),
  });
  if (isFirst) focusHeading();
  tell(reward ? describeReward(reward, study.texts, study.language) : "");
  painted = NaN;
  // The second of two frames begins when the first one, with the scene in it, has been painted.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (state?.seq === seq) painted = performance.now();
    }),
  );
}

/** @param {number} seq @param {number} action @param {Event} event */
function act(seq, action, event) {
  const isSeen = !Number.isNaN(painted); // else it was too fast, or the page is not on the screen
  const reaction = Math.round(performance.now() - painted);
  const times = isSeen ? { reaction, shown: Math.round(painted) } : {};
  answer({ type: "act", seq, action, ...times }, event);
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  document.documentElement.dataset.input = "keyboard";
  const isOther = event.ctrlKey || event.altKey || event.metaKey;
  if (isOther || document.querySelector("dialog[open]")) return;
  if (drawing?.press(event)) event.preventDefault();
}

function questionnaire() {
  const draft = JSON.parse(sessionStorage.getItem(DRAFT) ?? "{}");
  const form = h(
    "form",
    {
      oninput: () => sessionStorage.setItem(DRAFT, JSON.stringify(answersIn(form))),
      onsubmit: (event) => {
        event.preventDefault();
        answer({ type: "answers", answers: answersIn(form) }, event);
      },
    },
    ...study.questions.map((each) => questionField(each, draft[each.name])),
    actions(h("button", { class: "main", "data-answer": true }, text("questionnaire-send"))),
  );
  return [...notes("questionnaire"), form];
}

/** @param {HTMLFormElement} form @returns {Record<string, string | number>} */
function answersIn(form) {
  const data = new FormData(form);
  /** @type {Record<string, string | number>} */ const answers = {};
  for (const { name, kind } of study.questions) {
    const value = data.get(name);
    if (typeof value === "string" && value) answers[name] = kind === "scale" ? +value : value;
  }
  return answers;
}

/** @param {Question} question @param {string | number | undefined} draft @returns {HTMLElement} */
function questionField(question, draft) {
  const { name, kind, steps, options = [], required = false } = question;
  const asked = [question.text, ...(required ? [` (${text("required")})`] : [])];
  if (kind === "text") {
    const id = `answer-${name}`;
    const field = h("textarea", { id, name, rows: 4, maxlength: 4_000, required }, String(draft ?? ""));
    return h("div", { class: "question" }, h("label", { for: id }, ...asked), field);
  }
  /** @param {string | number} value */
  const choice = (value) => {
    const field = h("input", { type: "radio", name, value, required, checked: draft === value });
    return h("label", { class: "choice" }, field, h("span", {}, String(value)));
  };
  const legend = h("legend", {}, ...asked);
  if (kind === "choice") return h("fieldset", { class: "question" }, legend, ...options.map(choice));
  const words = options.length > 1 ? options : [text("scale-low"), text("scale-high")];
  const ends = words.slice(0, 2).map((each) => h("span", {}, each));
  const numbers = Array.from({ length: steps }, (_, place) => choice(place + 1));
  const scale = h("div", { class: "scale" }, h("div", { class: "steps" }, ...numbers));
  scale.append(h("div", { class: "ends" }, ...ends));
  return h("fieldset", { class: "question" }, legend, scale);
}

function askToWithdraw() {
  const failed = h("p", { class: "error", role: "alert" });
  const withdraw = async () => {
    confirm.disabled = true;
    try {
      await ask(`${OWN}/withdraw`, {});
      connection.stop();
      dialog.close();
      onState({ type: "state", stage: "withdrawn" }, false);
      notice.textContent = "";
    } catch {
      confirm.disabled = false;
      failed.textContent = text("withdraw-failed");
    }
  };
  const confirm = h("button", { type: "button", class: "danger", onclick: withdraw });
  confirm.append(text("withdraw-confirm"));
  const stay = { type: "button", onclick: () => dialog.close() };
  dialog.replaceChildren(
    h("h2", { id: "leaving-title" }, text("withdraw-title")),
    h("p", {}, text("withdraw-text")),
    failed,
    actions(h("button", stay, text("withdraw-cancel")), confirm),
  );
  dialog.showModal();
}
