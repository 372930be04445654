/** The experimenter's page: studies, their participants, and what is stored beside them. */

import { formOf } from "./study-form.js";
import { showResults, showStored } from "./live.js";
import { Refused, Table, ask, follow, h, say, span } from "./page.js";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));

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
            ? h("span", {}, name, " ", h("span", { class: "badge bad" }, "damaged"), ` ${item.damaged}`)
            : h("a", { href: studyLink(name) }, item.title),
      },
      { title: "Invited", number: true, cell: (_, item) => String(item.invited ?? "–") },
      { title: "Begun", number: true, cell: (_, item) => String(item.begun ?? "–") },
      { title: "Finished", number: true, cell: (_, item) => String(item.over ?? "–") },
      { title: "Connected now", number: true, cell: (_, item) => String(item.here ?? "–") },
    ],
    (name) => name,
  );
  const connection = h("p", { class: "quiet", role: "status" });
  const stored = h("section", { "aria-labelledby": "stored" }, h("h2", { id: "stored" }, "Results"));
  main.replaceChildren(
    heading("Overview"),
    h(
      "section",
      { "aria-labelledby": "studies" },
      h("div", { class: "line" }, h("h2", { id: "studies" }, "Studies"), h("a", { class: "button primary", href: "#/new" }, "New study")),
      empty,
      table.element,
      connection,
    ),
    stored,
  );
  empty.hidden = table.element.hidden = true;
  const end = follow(
    "/api/studies/ws",
    (changes) => {
      table.update(changes);
      empty.hidden = table.rows.size > 0;
      table.element.hidden = !table.rows.size;
    },
    (state) => (connection.textContent = state === "lost" ? "The connection is lost; trying again." : ""),
  );
  const endStored = showStored(stored);
  return () => {
    end();
    endStored();
  };
}

/** @returns {Promise<End>} */
async function creation() {
  const choices = await ask("/api/form");
  const form = formOf(choices, async (design) => {
    const { name } = await ask("/api/studies", design);
    say("The study is made.");
    location.hash = studyLink(name);
  });
  main.replaceChildren(heading("New study"), form);
  return () => {};
}

/** @param {string} name @returns {Promise<End>} */
async function study(name) {
  const { design, path, kiosk } = await ask(studyPath(name));
  const participants = h("section", { "aria-labelledby": "people" });
  main.replaceChildren(
    heading(design.title),
    summary(design, path),
    invitation(name),
    kioskOf(name, kiosk),
    participants,
    h(
      "section",
      { "aria-labelledby": "downloads" },
      h("h2", { id: "downloads" }, "Downloads"),
      h(
        "ul",
        {},
        ...[
          ["answers", "Answers to the questionnaire"],
          ["events", "All events: consent, actions with reaction times, interruptions"],
          ["links", "Invitation links"],
        ].map(([what, title]) => h("li", {}, h("a", { href: `${studyPath(name)}/${what}.csv`, download: true }, `${title} (CSV)`))),
      ),
      h("p", { class: "quiet" }, "Everything, with traces and scores: ", h("code", {}, `omnimeter study export ${path}`)),
    ),
  );
  return people(participants, name);
}

/** @param {any} design @param {string} path */
function summary(design, path) {
  const battery = design.battery;
  const exercises = design.test
    ? `anytime test in ${design.test.class ?? "lambda"}, ${design.test.time ? `${design.test.time} seconds` : `${design.test.interactions ?? "?"} interactions`}`
    : typeof battery === "string"
      ? `battery ${battery}`
      : `battery “${battery.title}” of ${battery.exercises.length} exercises`;
  const questions = design.questionnaire;
  const rows = [
    ["Exercises", exercises],
    ["Order", { random: "random for each participant", balanced: "balanced Latin square" }[/** @type {string} */ (design.order)] ?? "fixed"],
    ["Environments", design.environments === "same" ? "the same for all" : "their own for each participant"],
    ["Rewards", { steps: "steps", number: "the number" }[/** @type {string} */ (design.rewards)] ?? "three signs"],
    ["Language", design.language ?? "en"],
    ["After an interruption", { restart: "the exercise begins anew", block: "they cannot go on" }[/** @type {string} */ (design.after_interruption)] ?? "they go on at the exact step"],
    ["Consent", design.consent ? "asked for" : "not asked for"],
    ["Questionnaire", questions ? `${questions.length} questions` : "standard"],
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
    say(`${what} copied.`);
  } catch {
    say("The browser does not allow copying: select the text instead.");
  }
}

/** @param {string} name */
function invitation(name) {
  const count = /** @type {HTMLInputElement} */ (h("input", { id: "count", type: "number", min: 1, max: 1000, value: 1, required: true }));
  const days = /** @type {HTMLInputElement} */ (h("input", { id: "days", type: "number", min: 0, max: 3650, step: "any", value: 0, required: true, "aria-describedby": "days-hint" }));
  const wrong = h("p", { class: "error", role: "alert" });
  const links = h("div", { class: "links" });
  const form = h(
    "form",
    {
      class: "inline",
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        wrong.textContent = "";
        try {
          const told = await ask(`${studyPath(name)}/invite`, { count: count.valueAsNumber, days: days.valueAsNumber });
          const addresses = told.links.map((/** @type {any} */ each) => location.origin + each.path);
          const items = told.links.map((/** @type {any} */ each, /** @type {number} */ place) =>
            h(
              "li",
              {},
              h("span", { class: "quiet" }, each.name),
              h("a", { href: each.path, target: "_blank", rel: "noopener" }, addresses[place]),
              h("button", { type: "button", "aria-label": `Copy the link of ${each.name}`, onclick: () => copy(addresses[place], "Link") }, "Copy"),
            ),
          );
          links.replaceChildren(
            h("p", {}, `${items.length} new ${items.length === 1 ? "link" : "links"}. Each is for one participant; who has it takes part. `,
              items.length > 1 && h("button", { type: "button", onclick: () => copy(addresses.join("\n"), "Links") }, "Copy all")),
            h("ul", {}, ...items),
          );
          if (["127.0.0.1", "localhost", "[::1]"].includes(location.hostname)) {
            links.append(h("p", { class: "quiet" }, "These links work on this machine only: the server listens here and nowhere else."));
          }
          say(`${items.length} invited.`);
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          wrong.textContent = error.message;
        }
      },
    },
    h("div", { class: "field" }, h("label", { for: "count" }, "How many"), count),
    h("div", { class: "field" }, h("label", { for: "days" }, "Valid for days"), days, h("span", { class: "hint", id: "days-hint" }, "0: for ever")),
    h("button", { class: "primary", type: "submit" }, "Invite"),
  );
  return h("section", { "aria-labelledby": "invite" }, h("h2", { id: "invite" }, "Invite participants"), form, wrong, links);
}

/** @param {string} name @param {string | null} given */
function kioskOf(name, given) {
  const body = h("div");
  const wrong = h("p", { class: "error", role: "alert" });
  const set = async (/** @type {boolean} */ open) => {
    wrong.textContent = "";
    try {
      draw((await ask(`${studyPath(name)}/kiosk`, { open })).kiosk, true);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      wrong.textContent = error.message;
    }
  };
  const draw = (/** @type {string | null} */ path, /** @type {boolean} */ again) => {
    const address = location.origin + path;
    const button = h("button", { type: "button", onclick: () => set(!path) }, path ? "Close the kiosk" : "Open a kiosk");
    body.replaceChildren(
      path
        ? h("ul", { class: "links" }, h("li", {}, h("a", { href: path, target: "_blank", rel: "noopener" }, address), h("button", { type: "button", onclick: () => copy(address, "Address") }, "Copy")))
        : h("p", { class: "quiet" }, "A kiosk is one address for a device on which one participant after the other takes part. Anyone who knows it can take part."),
      button,
    );
    if (again) button.focus();
  };
  draw(given, false);
  return h("section", { "aria-labelledby": "kiosk" }, h("h2", { id: "kiosk" }, "Kiosk"), body, wrong);
}

/** @param {HTMLElement} place @param {string} name @returns {End} */
function people(place, name) {
  let offset = 0; // of the server's clock
  const ago = (/** @type {any} */ item) =>
    item.seen ? `${span(Date.now() / 1000 + offset - item.seen)} ago` : "–";
  const table = new Table(
    "Participants",
    [
      { title: "Participant", cell: (each) => each },
      {
        title: "Stage",
        cell: (_, item) =>
          item.damaged
            ? h("span", { class: "error" }, item.damaged)
            : h("span", {}, STAGES[item.stage] ?? item.stage, item.expired && h("span", { class: "badge" }, "link too old")),
      },
      { title: "Exercise", number: true, cell: (_, item) => String(item.exercise ?? "–") },
      { title: "Step", number: true, cell: (_, item) => String(item.step ?? "–") },
      { title: "Interruptions", number: true, cell: (_, item) => String(item.interruptions) },
      { title: "Last sign of life", number: true, cell: (_, item) => ago(item) },
      {
        title: "Connected",
        cell: (_, item) =>
          item.browsers ? h("span", { class: "badge on" }, item.browsers > 1 ? `yes, ${item.browsers} pages` : "yes") : "no",
      },
    ],
    (_, item) => item.number,
  );
  const empty = h("p", { class: "quiet" }, "No participant is invited yet.");
  const counts = h("p", { class: "quiet" });
  const connection = h("p", { class: "quiet", role: "status" });
  place.append(h("h2", { id: "people" }, "Participants"), counts, empty, table.element, connection);
  table.element.hidden = true;
  const end = follow(
    `${studyPath(name)}/ws`,
    (changes) => {
      offset = changes.time - Date.now() / 1000;
      table.update(changes);
      empty.hidden = table.rows.size > 0;
      table.element.hidden = !table.rows.size;
      const all = [...table.rows.values()].map(({ item }) => item);
      const number = (/** @type {(item: any) => boolean} */ such) => all.filter(such).length;
      counts.textContent = all.length
        ? `${all.length} invited, ${number((each) => each.stage !== "invited")} begun, ${number((each) => each.stage === "thanks")} finished, ${number((each) => each.browsers)} connected now.`
        : "";
    },
    (state) => (connection.textContent = state === "lost" ? "The connection is lost; trying again." : ""),
  );
  const clock = setInterval(() => {
    for (const [each, { item }] of table.rows) if (item.seen) table.set(each, item);
  }, 1000);
  return () => {
    end();
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
