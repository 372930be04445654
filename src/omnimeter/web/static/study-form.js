/** The form of a new study; the server checks it, and its errors are shown at their fields. */

import { Refused, h } from "./page.js";

/** What can be chosen, by the names in a design; the first is the default. */
export const CHOICES = {
  order: {
    fixed: "as in the battery",
    random: "random for each participant",
    balanced: "balanced Latin square",
  },
  environments: { own: "each participant gets their own", same: "the same for all" },
  rewards: { signs: "three signs", steps: "steps", number: "the number" },
  after_interruption: {
    resume: "they go on at the exact step",
    restart: "the exercise begins anew",
    block: "they cannot go on",
  },
};

/**
 * @typedef {object} Choices What a study can be made of.
 * @property {Record<string, number>} batteries Their names, with how many exercises are in each.
 * @property {string[]} classes
 * @property {string[]} languages
 * @property {string[]} questions The names of the standard ones.
 */

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

let count = 0;
/** @type {WeakMap<Element, () => unknown>} What each field says. */
const readers = new WeakMap();

/**
 * A labelled field; `name` is the path of what it says in a design.
 * @param {string} name
 * @param {string} label
 * @param {Control} control
 * @param {string} [hint]
 * @param {(text: string) => unknown} [read] What its text means.
 */
function field(name, label, control, hint, read) {
  const id = `field-${++count}`;
  control.id = id;
  control.setAttribute("aria-describedby", `${id}-error ${id}-hint`);
  const made = h(
    "div",
    { class: "field", "data-field": name },
    h("label", { for: id }, label),
    control,
    hint && h("span", { class: "quiet", id: `${id}-hint` }, hint),
    h("span", { class: "error", id: `${id}-error` }),
  );
  readers.set(made, () => (read ? read(control.value) : valueOf(control)));
  return made;
}

/** @param {Control} control */
function valueOf(control) {
  if (!(control instanceof HTMLInputElement) || control.type !== "number") return control.value;
  return control.value || control.required ? control.valueAsNumber : undefined;
}

/** A field of yes or no. @param {string} name @param {string} label @param {boolean} checked */
function checkbox(name, label, checked) {
  const control = h("input", { type: "checkbox", checked });
  const made = h("label", { class: "choice", "data-field": name }, control, label);
  readers.set(made, () => control.checked);
  return made;
}

/**
 * Take what a field says into a design.
 * @param {Record<string, any>} data
 * @param {string} path
 * @param {unknown} value
 */
function put(data, path, value) {
  const names = path.split(".");
  const last = String(names.pop());
  for (const name of names) data = data[name] ??= {};
  data[last] = value;
}

/** @param {Record<string, string>} options Texts by their values. @param {string} [chosen] */
function select(options, chosen) {
  const made = Object.entries(options).map(([value, text]) =>
    h("option", { value, selected: value === chosen }, text),
  );
  return h("select", {}, ...made);
}

/** @param {readonly string[]} values @param {(value: string) => string} name */
const named = (values, name) => Object.fromEntries(values.map((each) => [each, name(each)]));

/** @param {import("./page.js").Attributes} attributes */
const number = (attributes) => h("input", { type: "number", step: "any", ...attributes });

const text = () => h("textarea", { rows: 4, maxlength: 20_000 });

/** Fields side by side where there is room. @param {...Node} parts */
const columns = (...parts) => h("div", { class: "columns" }, ...parts);

/** @param {string} legend @param {...Node} parts */
const group = (legend, ...parts) => h("fieldset", { class: "card" }, h("legend", {}, legend), ...parts);

/**
 * Choices of which each shows its own fields.
 * @param {string} legend
 * @param {string} name The field at which errors are shown that are of none of these.
 * @param {Record<string, [string, HTMLElement?]>} options The text and the fields of each.
 * @param {(chosen: string) => void} onChange
 */
function alternatives(legend, name, options, onChange) {
  const id = `choice-${++count}`;
  const first = Object.keys(options)[0];
  const choose = (/** @type {string} */ chosen) => {
    for (const [each, [, part]] of Object.entries(options)) if (part) part.hidden = each !== chosen;
    onChange(chosen);
  };
  const buttons = Object.entries(options).map(([value, [label]]) => {
    const attributes = { type: "radio", name: id, value, checked: value === first };
    return h("label", { class: "choice" }, h("input", { ...attributes, onchange: () => choose(value) }), label);
  });
  choose(first);
  return h(
    "fieldset",
    { class: "card", "data-field": name, "aria-describedby": `${id}-error`, tabindex: "-1" },
    h("legend", {}, legend),
    ...buttons,
    h("span", { class: "error", id: `${id}-error` }),
    ...Object.values(options).map(([, part]) => part),
  );
}

/** The questions of an own questionnaire. */
function editor() {
  const list = h("ol", { class: "questions" });
  const renumber = () =>
    [...list.children].forEach((question, place) => {
      for (const each of question.querySelectorAll("[data-field]")) {
        const name = each.getAttribute("data-field")?.split(".").at(-1);
        each.setAttribute("data-field", `questionnaire.${place}.${name}`);
      }
    });
  const add = () => {
    const name = h("input", { pattern: "[a-z][a-z0-9_\\-]{0,39}", maxlength: 40 });
    const kind = select({ text: "free text", scale: "scale", choice: "choice" });
    const hint = "Of a scale: the words at both ends.";
    const options = field("options", "Options, one in a line", text(), hint, lines);
    const steps = field("steps", "Steps of the scale", number({ min: 2, max: 11, step: 1, value: 5 }));
    const show = () => {
      options.hidden = kind.value === "text";
      steps.hidden = kind.value !== "scale";
    };
    const remove = () => {
      question.remove();
      renumber();
      more.focus();
    };
    const question = h(
      "li",
      {},
      field("name", "Name in tables", name, "Small letters, digits, - and _."),
      field("text", "What is asked", h("input", { maxlength: 20_000 })),
      field("kind", "Kind", kind),
      options,
      steps,
      checkbox("required", "must be answered", false),
      h("button", { type: "button", onclick: remove }, "Remove this question"),
    );
    kind.addEventListener("change", show);
    show();
    list.append(question);
    renumber();
    name.focus();
  };
  const more = h("button", { type: "button", onclick: add }, "Add a question");
  return h("div", {}, list, more);
}

/** @param {string} words */
const lines = (words) => words.split("\n").map((line) => line.trim()).filter((line) => line);

/** @param {string} words */
function placesOf(words) {
  const places = words.split(/[\s,;]+/).filter((each) => each);
  if (places.every((each) => /^[1-9]\d{0,5}$/.test(each))) return places.map(Number);
  throw new Refused("", { breaks: "Write numbers of exercises with commas between them." });
}

/** @param {string} words */
function batteryOf(words) {
  try {
    return JSON.parse(words);
  } catch (error) {
    throw new Refused("", { battery: `This is not JSON: ${/** @type {Error} */ (error).message}` });
  }
}

const EXAMPLE = `{
  "title": "My battery",
  "exercises": [
    {"environment_class": "lambda-v1(cells=3)", "interactions": 10},
    {"environment_class": "cups-v1", "interactions": 10}
  ]
}`;

/** What a participant does: a battery, or an anytime test. @param {Choices} choices */
function exercises({ batteries, classes }) {
  const battery = select(named(Object.keys(batteries), (each) => `${each} (${batteries[each]} exercises)`));
  const json = h("textarea", { rows: 10, spellcheck: "false", class: "code" }, EXAMPLE);
  const unit = select({ time: "seconds", interactions: "interactions" });
  const length = field("test.time", "Length", number({ min: 1, value: 600, required: true }));
  unit.addEventListener("change", () => (length.dataset.field = `test.${unit.value}`));
  const slot = number({ min: 0, placeholder: "10 s, or 1 interaction" });
  const order = field("order", "Order of the exercises", select(CHOICES.order));
  const installed = "Of installed parts only: no files, modules or addresses.";
  const test = columns(
    field("test.class", "Environment class", select(named(classes, String), "lambda-v1")),
    length,
    field("", "Measured in", unit),
    field("test.slot", "First exercise", slot, "In the same unit."),
    field("test.start_complexity", "Complexity at the beginning", number({ placeholder: "the lowest" })),
  );
  const source = alternatives(
    "Exercises",
    "battery",
    {
      battery: ["A battery that comes with Omnimeter", field("battery", "Battery", battery)],
      json: ["A battery of your own", field("battery", "Battery as JSON", json, installed, batteryOf)],
      test: ["An anytime test, which chooses its exercises by what the participant does", test],
    },
    (chosen) => (order.hidden = chosen === "test"),
  );
  return { source, order };
}

/**
 * The form of a new study.
 * @param {Choices} choices
 * @param {(design: object) => Promise<void>} onDesign Makes the study.
 */
export function formOf(choices, onDesign) {
  const { source, order } = exercises(choices);
  const interruption = select(CHOICES.after_interruption);
  const minutes = number({ min: 0, max: 1e6, value: 30, required: true });
  const away = field("minutes_away", "If they were away for more than so many minutes", minutes);
  const showAway = () => (away.hidden = interruption.value === "resume");
  interruption.addEventListener("change", showAway);
  showAway();
  let asked = "";
  const questionnaire = alternatives(
    "Questionnaire at the end",
    "questionnaire",
    {
      standard: [`Standard: ${choices.questions.join(", ")}`],
      none: ["None"],
      own: ["Your own questions", editor()],
    },
    (chosen) => (asked = chosen),
  );
  const breaks = h("input", { inputmode: "numeric", placeholder: "such as 3, 5" });
  const wrong = h("p", { class: "error", role: "alert" });
  const button = h("button", { class: "main", type: "submit" }, "Make the study");

  /** The design as the form says it. */
  const design = () => {
    /** @type {Record<string, any>} */ const data = {};
    for (const each of form.querySelectorAll("[data-field]")) {
      const path = each.getAttribute("data-field");
      const value = path && !each.closest("[hidden]") ? readers.get(each)?.() : undefined;
      if (path && value !== undefined) put(data, path, value);
    }
    if (asked !== "standard") data.questionnaire = Object.values(data.questionnaire ?? {});
    return data;
  };
  const submit = async () => {
    for (const each of form.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
    for (const each of form.querySelectorAll(".error")) each.textContent = "";
    button.disabled = true;
    try {
      await onDesign(design());
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const rest = mark(form, error.errors);
      const general = Object.keys(error.errors).length ? "Something is not right yet: see above." : error.message;
      wrong.textContent = rest.length ? rest.join(" ") : general;
    } finally {
      button.disabled = false;
    }
  };
  const form = h(
    "form",
    {
      novalidate: true,
      onsubmit: (event) => {
        event.preventDefault();
        submit();
      },
    },
    field("title", "Title", h("input", { maxlength: 200 }), "Participants see it."),
    source,
    group(
      "How they are taken",
      columns(
        order,
        field("environments", "Environments", select(CHOICES.environments)),
        field("rewards", "Rewards are shown as", select(CHOICES.rewards)),
        field("breaks", "Breaks after the exercises", breaks, "Their numbers, with commas.", placesOf),
        field("language", "Language of the pages", select(named(choices.languages, languageName), "en")),
        checkbox("colours", "cells have colours", true),
      ),
    ),
    group(
      "Interruptions",
      columns(field("after_interruption", "Participants who come back", interruption), away),
    ),
    group(
      "Texts",
      field("consent", "What participants agree to", text(), "Empty: they are not asked for consent."),
      field("instructions", "Instructions", text(), "Empty: the standard ones, which tell nothing of the environments."),
    ),
    questionnaire,
    wrong,
    button,
  );
  return form;
}

/** @param {string} code */
const languageName = (code) => new Intl.DisplayNames([code], { type: "language" }).of(code) ?? code;

/**
 * Show errors at their fields, and go to the first one.
 * @param {HTMLElement} form
 * @param {Record<string, string>} errors
 * @returns {string[]} Those of no field.
 */
function mark(form, errors) {
  const rest = [];
  for (const [path, message] of Object.entries(errors)) {
    const place = fieldOf(form, path);
    const shown = place?.querySelector(":scope > .error");
    if (shown) {
      shown.textContent = `${shown.textContent} ${message}`.trim();
      place?.querySelector("input, select, textarea")?.setAttribute("aria-invalid", "true");
    } else {
      rest.push(`${path ? `${path}: ` : ""}${message}.`.replace("..", "."));
    }
  }
  const first = /** @type {HTMLElement | null} */ (form.querySelector("[aria-invalid]"));
  first?.focus();
  return rest;
}

/** The innermost field of a path that can be seen. @param {HTMLElement} form @param {string} path */
function fieldOf(form, path) {
  const names = path.split(".");
  for (let many = names.length; many; many -= 1) {
    const name = CSS.escape(names.slice(0, many).join("."));
    const places = [...form.querySelectorAll(`[data-field="${name}"]`)].reverse();
    const visible = places.find((each) => !each.closest("[hidden]"));
    if (visible) return visible;
  }
  return names[0] === "test" ? form.querySelector('[data-field="battery"]') : null;
}
