/** The experimenter's page: studies, their participants, and what is stored beside them. */

import { CHOICES, formOf } from "./study-form.js";
import { Table, badge, follow, showResults, showStored, span } from "./live.js";
import { Refused, ask, attempt, byId, h, tell } from "./page.js";

const main = byId("main");

/** @type {Record<string, string>} What a participant is at, in words. */
const STAGES = {
  invited: "invited",
  consent: "asked for consent",
  declined: "declined",
  instructions: "reads the instructions",
  test: "takes the test",
  questionnaire: "answers the questionnaire",
  thanks: "finished",
  blocked: "blocked after an interruption",
  damaged: "damaged",
};

/** @param {string} name */
const studyLink = (name) => `#/study/${encodeURIComponent(name)}`;

/** @param {string} name */
const studyPath = (name) => `/api/studies/${encodeURIComponent(name)}`;

/** @typedef {() => void} End */

/**
 * A part of a page with its heading.
 * @param {string} id
 * @param {string} title
 * @param {...import("./page.js").Child} parts
 */
const section = (id, title, ...parts) =>
  h("section", { "aria-labelledby": id }, h("h2", { id }, title), ...parts);

/** @param {string} title @returns {HTMLElement} */
function heading(title) {
  document.title = `${title} · Omnimeter`;
  return h("h1", { tabindex: "-1" }, title);
}

/** @returns {End} */
function overview() {
  const empty = h(
    "p",
    { class: "quiet" },
    "There is no study yet. ",
    h("a", { href: "#/new" }, "Make one"),
    ", invite yourself, and take part.",
  );
  const table = new Table(
    "Studies",
    [
      {
        title: "Study",
        cell: (name, item) =>
          item.damaged
            ? h("span", {}, name, " ", badge("damaged", "bad"), ` ${item.damaged}`)
            : h("a", { href: studyLink(name) }, item.title),
      },
      { title: "Invited", number: true, cell: (_, item) => String(item.invited ?? "–") },
      { title: "Begun", number: true, cell: (_, item) => String(item.begun ?? "–") },
      { title: "Finished", number: true, cell: (_, item) => String(item.over ?? "–") },
      { title: "Connected now", number: true, cell: (_, item) => String(item.here ?? "–") },
    ],
    (name) => name,
  );
  empty.hidden = true;
  const { element, stop } = follow("/api/studies/ws", (changes) => {
    table.update(changes);
    empty.hidden = table.rows.size > 0;
  });
  const create = h("a", { class: "button main", href: "#/new" }, "New study");
  const stored = section("stored", "Results");
  main.replaceChildren(
    heading("Overview"),
    section("studies", "Studies", h("p", {}, create), empty, table.element, element),
    stored,
  );
  const endStored = showStored(stored);
  return () => {
    stop();
    endStored();
  };
}

/** @returns {Promise<End>} */
async function creation() {
  const choices = await ask("/api/form");
  const form = formOf(choices, async (design) => {
    const { name } = await ask("/api/studies", design);
    tell("The study is made.");
    location.hash = studyLink(name);
  });
  main.replaceChildren(heading("New study"), form);
  return () => {};
}

/** @param {string} name @returns {Promise<End>} */
async function study(name) {
  const { design, path, kiosk } = await ask(studyPath(name));
  const downloads = Object.entries({
    answers: "Answers to the questionnaire",
    events: "All events: consent, actions with reaction times, interruptions",
    links: "Invitation links",
  }).map(([what, title]) =>
    h("li", {}, h("a", { href: `${studyPath(name)}/${what}.csv`, download: true }, `${title} (CSV)`)),
  );
  const exported = h("code", {}, `omnimeter study export ${path} --out ${name}.parquet`);
  const participants = section("people", "Participants");
  main.replaceChildren(
    heading(design.title),
    summary(design, path),
    invitation(name),
    kioskOf(name, kiosk),
    participants,
    section(
      "downloads",
      "Downloads",
      h("ul", {}, ...downloads),
      h("p", { class: "quiet" }, "All interactions and answers: ", exported),
    ),
  );
  return people(participants, name);
}

/** @param {any} design @param {string} path */
function summary(design, path) {
  const { battery, test, questionnaire } = design;
  const length = test && (test.time ? `${test.time} seconds` : `${test.interactions ?? "?"} interactions`);
  const exercises = test
    ? `anytime test in ${test.class ?? "lambda"}, ${length}`
    : typeof battery === "string"
      ? `battery ${battery}`
      : `battery “${battery.title}” of ${battery.exercises.length} exercises`;
  const said = (/** @type {keyof typeof CHOICES} */ field) =>
    /** @type {Record<string, string>} */ (CHOICES[field])[design[field]] ?? Object.values(CHOICES[field])[0];
  const rows = [
    ["Exercises", exercises],
    ["Order", said("order")],
    ["Environments", said("environments")],
    ["Rewards", said("rewards")],
    ["Language", design.language ?? "en"],
    ["After an interruption", said("after_interruption")],
    ["Consent", design.consent ? "asked for" : "not asked for"],
    ["Questionnaire", questionnaire ? `${questionnaire.length} questions` : "standard"],
    ["Folder", path],
  ];
  return h(
    "details",
    { class: "card" },
    h("summary", {}, `What is asked: ${exercises}`),
    h("dl", {}, ...rows.flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)])),
  );
}

/** @param {string} text @param {string} what */
async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    tell(`${what} copied.`);
  } catch {
    prompt("The browser does not allow this page to copy. Copy the text here:", text);
  }
}

/**
 * An address with a button that copies it.
 * @param {string} path
 * @param {string} what
 * @param {string} label
 * @param {string} [name] Whose it is.
 */
function addressOf(path, what, label, name) {
  const address = location.origin + path;
  const onclick = () => copy(address, what);
  return h(
    "li",
    {},
    name && h("span", { class: "quiet" }, name),
    h("a", { href: path, target: "_blank", rel: "noopener" }, address),
    h("button", { type: "button", "aria-label": label, onclick }, "Copy"),
  );
}

/** @param {string} name */
function invitation(name) {
  const count = h("input", { id: "count", type: "number", min: 1, max: 1000, value: 1, required: true });
  const days = h("input", { id: "days", type: "number", min: 0, max: 3650, step: "any", value: 0, required: true, "aria-describedby": "days-hint" });
  const wrong = h("p", { class: "error", role: "alert" });
  const links = h("div");
  const isLocal = ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);
  const invite = async () => {
    const told = await ask(`${studyPath(name)}/invite`, { count: count.valueAsNumber, days: days.valueAsNumber });
    /** @type {{name: string, path: string}[]} */ const made = told.links;
    const all = made.map(({ path }) => location.origin + path).join("\n");
    const items = made.map((each) => addressOf(each.path, "Link", `Copy the link of ${each.name}`, each.name));
    links.replaceChildren(
      h("p", {}, `${made.length} new ${made.length === 1 ? "link" : "links"}. Each is for one participant; who has it takes part. `),
      h("ul", { class: "links" }, ...items),
    );
    if (made.length > 1) links.append(h("button", { type: "button", onclick: () => copy(all, "Links") }, "Copy all"));
    if (isLocal) links.append(h("p", { class: "quiet" }, "These links work on this machine only: the server listens here and nowhere else."));
    tell(`${made.length} invited.`);
  };
  const form = h(
    "form",
    {
      class: "row",
      onsubmit: (event) => {
        event.preventDefault();
        attempt(wrong, invite);
      },
    },
    h("div", { class: "field" }, h("label", { for: "count" }, "How many"), count),
    h("div", { class: "field" }, h("label", { for: "days" }, "Valid for days"), days, h("span", { class: "quiet", id: "days-hint" }, "0: for ever")),
    h("button", { class: "main", type: "submit" }, "Invite"),
  );
  return section("invite", "Invite participants", form, wrong, links);
}

/** @param {string} name @param {string | null} given */
function kioskOf(name, given) {
  const body = h("div");
  const wrong = h("p", { class: "error", role: "alert" });
  /** @param {string | null} path */
  const draw = (path) => {
    const set = () =>
      attempt(wrong, async () => draw((await ask(`${studyPath(name)}/kiosk`, { open: !path })).kiosk).focus());
    const button = h("button", { type: "button", onclick: set }, path ? "Close the kiosk" : "Open a kiosk");
    body.replaceChildren(
      path
        ? h("ul", { class: "links" }, addressOf(path, "Address", "Copy the address of the kiosk"))
        : h("p", { class: "quiet" }, "A kiosk is one address for a device on which one participant after the other takes part. Anyone who knows it can take part."),
      button,
    );
    return button;
  };
  draw(given);
  return section("kiosk", "Kiosk", body, wrong);
}

/**
 * Ask whether something is to be done, and do it.
 * @param {string} title
 * @param {string} text What becomes of it.
 * @param {string} label
 * @param {() => Promise<void>} work
 */
function confirm(title, text, label, work) {
  const wrong = h("p", { class: "error", role: "alert" });
  const cancel = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const onclick = async () => {
    if (await attempt(wrong, work)) dialog.close();
  };
  const dialog = h(
    "dialog",
    { "aria-labelledby": "confirm", onclose: () => dialog.remove() },
    h("h2", { id: "confirm" }, title),
    h("p", {}, text),
    wrong,
    h("div", { class: "actions" }, cancel, h("button", { type: "button", class: "danger", onclick }, label)),
  );
  document.body.append(dialog);
  dialog.showModal();
}

/** What can be done with a participant. @param {string} study @param {string} name @param {any} item */
function actionsOf(study, name, item) {
  const path = `${studyPath(study)}/participants/${encodeURIComponent(name)}`;
  const copyLink = () =>
    attempt(byId("said"), async () => {
      const links = await ask(`${studyPath(study)}/links`);
      await copy(location.origin + links[name], "Link");
    });
  const revoke = () =>
    confirm(
      `Revoke the link of ${name}?`,
      "It leads to no test any more, from now on and for good. What is stored of this participant is kept.",
      "Revoke link",
      async () => {
        await ask(`${path}/revoke`, {});
        tell(`The link of ${name} is revoked.`);
      },
    );
  const withdraw = () =>
    confirm(
      `Withdraw ${name}, and delete everything?`,
      "Everything that is stored of this participant is deleted, at once and for good, as if they had withdrawn themselves.",
      "Withdraw and delete",
      async () => {
        await ask(`${path}/withdraw`, {});
        tell(`${name} is withdrawn.`);
      },
    );
  const button = (/** @type {string} */ label, /** @type {() => void} */ onclick) =>
    h("button", { type: "button", class: "link", "aria-label": `${label}: ${name}`, onclick }, label);
  return h(
    "span",
    {},
    button("Copy link", copyLink),
    !item.expired && item.stage !== "thanks" && button("Revoke link", revoke),
    button("Withdraw and delete", withdraw),
  );
}

/** @param {HTMLElement} place @param {string} name @returns {End} */
function people(place, name) {
  let offset = 0; // of the server's clock
  const ago = (/** @type {any} */ item) =>
    item.seen ? `${span(Date.now() / 1000 + offset - item.seen)} ago` : "–";
  const stage = (/** @type {any} */ item) =>
    item.damaged || item.trouble
      ? h("span", { class: "error" }, item.damaged || item.trouble)
      : h("span", {}, STAGES[item.stage] ?? item.stage, " ", item.expired && badge(`link ${item.expired}`));
  const connected = (/** @type {any} */ { browsers }) =>
    browsers ? badge(browsers > 1 ? `yes, ${browsers} pages` : "yes", "on") : "no";
  const table = new Table(
    "Participants",
    [
      { title: "Participant", cell: (each) => each },
      { title: "Stage", cell: (_, item) => stage(item) },
      { title: "Exercise", number: true, cell: (_, item) => String(item.exercise ?? "–") },
      { title: "Step", number: true, cell: (_, item) => String(item.step ?? "–") },
      { title: "Interruptions", number: true, cell: (_, item) => String(item.interruptions) },
      { title: "Last sign of life", number: true, cell: (_, item) => ago(item) },
      { title: "Connected", cell: (_, item) => connected(item) },
      { title: "Actions", cell: (each, item) => actionsOf(name, each, item) },
    ],
    (_, item) => item.number,
  );
  const counts = h("p", { class: "quiet" });
  const { element, stop } = follow(`${studyPath(name)}/ws`, (changes) => {
    offset = changes.time - Date.now() / 1000;
    table.update(changes);
    const all = [...table.rows.values()].map(({ item }) => item);
    const number = (/** @type {(item: any) => boolean} */ such) => all.filter(such).length;
    counts.textContent = all.length
      ? `${all.length} invited, ${number((each) => each.stage !== "invited")} begun, ${number((each) => each.stage === "thanks")} finished, ${number((each) => each.browsers)} connected now.`
      : "No participant is invited yet.";
  });
  place.append(counts, table.element, element);
  const clock = setInterval(() => {
    for (const [each, { item }] of table.rows) if (item.seen) table.set(each, item);
  }, 1000);
  return () => {
    stop();
    clearInterval(clock);
  };
}

/** @param {string} path @returns {End} */
function results(path) {
  const place = h("section", { "aria-label": "Results" });
  main.replaceChildren(heading(path === "." ? "This folder" : path), place);
  return showResults(place, path);
}

/** @type {End} */
let end = () => {};
let visits = 0;

async function route() {
  const visit = ++visits;
  end();
  end = () => {};
  const [, place = "", ...rest] = location.hash.slice(1).split("/");
  const name = rest.map(decodeURIComponent).join("/");
  try {
    const next =
      place === "new" ? await creation() : place === "study" ? await study(name) : place === "results" ? results(name) : overview();
    if (visit === visits) end = next;
    else next();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    main.replaceChildren(heading("This did not work"), h("p", { class: "error" }, error.message), h("p", {}, h("a", { href: "#/" }, "Overview")));
  }
  if (visit > 1) main.querySelector("h1")?.focus();
}

window.addEventListener("hashchange", route);
route();
