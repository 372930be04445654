/** The page of a participant: it shows what the server says, and sends answers. */

import { Connection } from "./connection.js";
import { describeReward, drawReward, drawScene } from "./scene.js";
import { element, paragraphs, say } from "./texts.js";

/** @typedef {import("./connection.js").Message} Message */
/** @typedef {import("./connection.js").State} State */
/** @typedef {import("./connection.js").Status} Status */

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
 * @property {import("./texts.js").Texts} texts
 * @property {string} instructions
 * @property {string} consent
 * @property {Question[]} questions
 */

const DOUBLE_CLICK = 350; // milliseconds within which a second click is no answer of its own
const OWN = location.pathname.replace(/\/$/, "");
const DRAFT = `answers ${OWN}`;

/** @param {string} id @returns {HTMLElement} */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const main = byId("main");
const told = byId("told");
const notice = byId("connection");
const withdrawal = byId("withdraw");
const dialog = /** @type {HTMLDialogElement} */ (byId("leaving"));

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
/** @type {Status} */ let status = "connecting";
let shownKey = ""; // what is on the page
let painted = NaN; // when the scene was first seen, on the page's own clock
let lastClick = -Infinity;
let waiting = false; // for an answer to count

const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${OWN}/ws`;
const connection = new Connection(address, { onState, onStatus, onRefused });
document.addEventListener("keydown", onKey);
document.addEventListener("pointerdown", () => (document.documentElement.dataset.input = "pointer"));

/** @returns {Promise<Study>} */
async function fetchStudy() {
  for (let delay = 500; ; delay = Math.min(8_000, 2 * delay)) {
    try {
      const answer = await fetch(`${OWN}/texts`);
      if (answer.ok) return await answer.json();
      if (answer.status === 404) location.reload(); // the participant has withdrawn meanwhile
    } catch {
      notice.hidden = false;
      notice.textContent = "…"; // there are no words yet
    }
    await new Promise((done) => setTimeout(done, delay));
    notice.hidden = true;
  }
}

/** @param {State} now @param {boolean} pending */
function onState(now, pending) {
  state = now;
  waiting = pending;
  show();
}

/** @param {Status} now */
function onStatus(now) {
  status = now;
  notice.hidden = now === "open" || now === "connecting";
  notice.textContent = notice.hidden ? "" : text(`connection-${now}`);
  if (now === "expired" || now === "unknown") {
    notice.hidden = true;
    showOnly(now);
  }
  enable();
}

/** @param {string} why */
function onRefused(why) {
  waiting = false;
  notice.hidden = false;
  notice.textContent = text("refused", { why });
  enable();
}

/** Whether something can be answered now. */
function isOpen() {
  return status === "open" && !waiting && (state?.stage !== "test" || state.phase !== "busy");
}

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
  notice.hidden = true;
  enable();
  connection.answer(message);
}

/** Show the stage, unless it is on the page already. */
function show() {
  if (!state) return;
  const { stage, phase, seq } = state;
  if (stage === "test" && phase === "busy" && drawing) {
    enable();
    return;
  }
  const key = stage === "test" ? `${stage} ${phase} ${seq}` : stage;
  if (key !== shownKey) {
    const before = shownKey;
    shownKey = key;
    main.removeAttribute("aria-busy");
    withdrawal.hidden = stage === "withdrawn";
    if (stage === "withdrawn" || stage === "thanks") sessionStorage.removeItem(DRAFT);
    if (stage === "test" && phase === "asked") showExercise(state);
    else {
      drawing = null;
      main.replaceChildren(...(stage === "test" ? between(state) : stageOf(stage)));
      told.textContent = "";
      if (before) focusHeading();
    }
  }
  enable();
}

/** @param {string} stage @returns {HTMLElement[]} */
function stageOf(stage) {
  if (stage === "consent") return consent();
  if (stage === "instructions") return instructions();
  if (stage === "questionnaire") return questionnaire();
  if (stage === "declined") {
    const back = answerButton("declined-back", { type: "consent", given: true });
    return [...notes("declined"), actions(back, ...nextOfKiosk())];
  }
  const isOver = ["thanks", "withdrawn", "blocked"].includes(stage);
  return isOver ? [...notes(stage), ...nextOfKiosk()] : notes(stage);
}

/** At a kiosk, the way to the next participant. @returns {HTMLElement[]} */
function nextOfKiosk() {
  if (!new URLSearchParams(location.search).has("kiosk")) return [];
  const click = () => location.assign("/kiosk");
  return [element("button", { type: "button", class: "main", click }, text("kiosk-next"))];
}

/** A heading and a text. @param {string} name @returns {HTMLElement[]} */
function notes(name) {
  return [heading(text(`${name}-title`)), element("p", {}, text(`${name}-text`))];
}

/** @param {string} name */
function showOnly(name) {
  shownKey = name;
  drawing = null;
  withdrawal.hidden = name === "unknown";
  main.removeAttribute("aria-busy");
  main.replaceChildren(...notes(name));
  focusHeading();
}

/** @param {string} words */
function heading(words) {
  return element("h1", { tabindex: -1 }, words);
}

function focusHeading() {
  main.querySelector("h1")?.focus();
  scrollTo(0, 0);
}

/** @param {...HTMLElement} buttons */
function actions(...buttons) {
  return element("div", { class: "actions" }, ...buttons);
}

/** @param {string} key @param {Message} message @param {string} [kind] */
function answerButton(key, message, kind = "main") {
  const click = (/** @type {Event} */ event) => answer(message, event);
  return element("button", { type: "button", class: kind, "data-answer": true, click }, text(key));
}

function consent() {
  return [
    heading(text("consent-title")),
    ...paragraphs(study.consent),
    actions(
      answerButton("consent-agree", { type: "consent", given: true }),
      answerButton("consent-decline", { type: "consent", given: false }, "plain"),
    ),
  ];
}

function instructions() {
  const standard = ["series", "rewards", "speed", "symbol"].map((name) => {
    const item = element("li", {}, text(`instructions-${name}`));
    if (name === "rewards") item.append(legend());
    return item;
  });
  const acting = ["pointer", "touch", "keyboard"].map((name) =>
    element("li", {}, text(`instructions-${name}`)),
  );
  const given = paragraphs(study.instructions);
  return [
    heading(text("instructions-title")),
    ...(given.length ? given : [element("ul", { class: "spaced" }, ...standard)]),
    element("h2", {}, text("instructions-acting")),
    element("ul", {}, ...acting),
    actions(answerButton("instructions-done", { type: "instructed" })),
  ];
}

/** What the three signs of rewards mean. */
function legend() {
  const signs = /** @type {const} */ (["up", "neutral", "down"]).map((sign) => {
    const drawn = drawReward({ sign }, study.texts, study.language);
    drawn.setAttribute("aria-hidden", "true");
    return element("span", { class: "meaning" }, drawn, text(`reward-${sign}`));
  });
  return element("span", { class: "legend" }, ...signs);
}

/** @param {State} now @returns {HTMLElement[]} */
function between(now) {
  if (now.trouble) return notes("trouble");
  if (now.phase !== "ready" || now.seq === undefined) {
    return [element("p", { class: "moment" }, text("moment"))];
  }
  const rest = now.break ? "break" : "ready";
  /** @type {HTMLElement[]} */
  const parts = [
    element("p", { class: "progress" }, exerciseName(now)),
    heading(text(`${rest}-title`)),
    element("p", {}, text(`${rest}-text`)),
    actions(answerButton(`${rest}-start`, { type: "ready", seq: now.seq })),
  ];
  if (now.reward && now.scene) {
    const place = element("div", { class: "stage seen" });
    drawScene(place, now.scene, { texts: study.texts });
    const shown = drawReward(now.reward, study.texts, study.language);
    const last = element("section", { class: "last" }, element("h2", {}, text("last-title")));
    last.append(element("p", { class: "outcome" }, shown), place);
    parts.push(last);
  }
  return parts;
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
  if (!drawing) {
    const name = heading(exerciseName(now));
    main.replaceChildren(
      element("div", { class: "exercise" }, name, element("p", { class: "outcome" })),
      element("div", { class: "stage" }),
    );
    main.querySelector("h1")?.focus();
  }
  const name = main.querySelector("h1");
  if (name) name.textContent = exerciseName(now);
  const shown = reward ? [drawReward(reward, study.texts, study.language)] : [];
  main.querySelector(".outcome")?.replaceChildren(...shown);
  const place = /** @type {Element} */ (main.querySelector(".stage"));
  drawing = drawScene(place, scene, {
    texts: study.texts,
    onAction: (action, event) => act(seq, action, event),
  });
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
  const times = Number.isNaN(painted)
    ? {} // it was answered before it could be seen, or in a page that is not on the screen
    : {
        reaction: Math.max(0, Math.round(performance.now() - painted)),
        shown: Math.round(painted),
      };
  answer({ type: "act", seq, action, ...times }, event);
}

/** Tell screen readers something, also if it is what was told before. @param {string} words */
function tell(words) {
  told.textContent = "";
  setTimeout(() => (told.textContent = words), 50);
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  document.documentElement.dataset.input = "keyboard";
  const isOther = event.ctrlKey || event.altKey || event.metaKey || dialog.open;
  if (isOther || !drawing || !drawing.press(event)) return;
  event.preventDefault();
}

function questionnaire() {
  const draft = JSON.parse(sessionStorage.getItem(DRAFT) ?? "{}");
  const form = element(
    "form",
    {
      input: () => sessionStorage.setItem(DRAFT, JSON.stringify(answersIn(form))),
      submit: (event) => {
        event.preventDefault();
        answer({ type: "answers", answers: answersIn(form) }, event);
      },
    },
    ...study.questions.map((each) => questionField(each, draft[each.name])),
    actions(
      element("button", { class: "main", "data-answer": true }, text("questionnaire-send")),
    ),
  );
  return [
    heading(text("questionnaire-title")),
    element("p", {}, text("questionnaire-text")),
    form,
  ];
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
    const field = element("textarea", { id: `answer-${name}`, name, rows: 4, maxlength: 20_000 });
    field.required = required;
    field.value = String(draft ?? "");
    return element("div", { class: "question" }, element("label", { for: field.id }, ...asked), field);
  }
  /** @param {string | number} value @param {string} label */
  const choice = (value, label) => {
    const checked = draft === value;
    const field = element("input", { type: "radio", name, value, required, checked });
    return element("label", { class: "choice" }, field, element("span", {}, label));
  };
  const group = element("fieldset", { class: "question" }, element("legend", {}, ...asked));
  if (kind === "choice") {
    group.append(...options.map((each) => choice(each, each)));
    return group;
  }
  const [low, high] = options.length > 1 ? options : [text("scale-low"), text("scale-high")];
  const numbers = Array.from({ length: steps }, (_, place) => choice(place + 1, String(place + 1)));
  const ends = [low, high].map((each) => element("span", {}, each));
  group.append(
    element(
      "div",
      { class: "scale" },
      element("div", { class: "steps" }, ...numbers),
      element("div", { class: "ends" }, ...ends),
    ),
  );
  return group;
}

function askToWithdraw() {
  const failed = element("p", { class: "notice", role: "alert", hidden: true });
  const confirm = element("button", { type: "button", class: "danger" }, text("withdraw-confirm"));
  confirm.addEventListener("click", async () => {
    confirm.disabled = true;
    try {
      const done = await fetch(`${OWN}/withdraw`, { method: "POST" });
      if (!done.ok && done.status !== 404) throw new Error(String(done.status));
      connection.stop();
      dialog.close();
      onState({ type: "state", stage: "withdrawn" }, false);
      notice.hidden = true;
    } catch {
      confirm.disabled = false;
      failed.hidden = false;
      failed.textContent = text("withdraw-failed");
    }
  });
  const stay = element(
    "button",
    { type: "button", class: "plain", click: () => dialog.close() },
    text("withdraw-cancel"),
  );
  dialog.replaceChildren(
    element("h2", { id: "leaving-title" }, text("withdraw-title")),
    element("p", {}, text("withdraw-text")),
    failed,
    actions(stay, confirm),
  );
  dialog.showModal();
}
