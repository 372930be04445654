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

let count = 0;

/**
 * A labelled field; `name` is the path of what it says in a design.
 * @param {string} name
 * @param {string} label
 * @param {HTMLElement} input
 * @param {string} [hint]
 */
function field(name, label, input, hint) {
  const id = `field-${++count}`;
  input.id = id;
  input.setAttribute("aria-describedby", `${id}-error ${id}-hint`);
  return h(
    "div",
    { class: "field", "data-field": name },
    h("label", { for: id }, label),
    input,
    hint && h("span", { class: "quiet", id: `${id}-hint` }, hint),
    h("span", { class: "error", id: `${id}-error` }),
  );
}

/** @param {Record<string, string>} options Texts by their values. */
const select = (options) =>
  h("select", {}, ...Object.entries(options).map(([value, text]) => h("option", { value }, text)));

/** @param {import("./page.js").Attributes} attributes */
const input = (attributes) => h("input", attributes);

/** @param {import("./page.js").Attributes} attributes */
const area = (attributes) => h("textarea", attributes);

/** Fields side by side where there is room. @param {...Node} parts */
const columns = (...parts) => h("div", { class: "columns" }, ...parts);

/** @param {string} legend @param {...(Node | false)} parts */
const group = (legend, ...parts) => h("fieldset", { class: "card" }, h("legend", {}, legend), ...parts);

/**
 * Choices of which each shows its own fields.
 * @param {string} legend
 * @param {Record<string, [string, HTMLElement | null]>} options The text and the fields of each.
 * @param {string} name The field at which errors are shown that are of none of these.
 * @param {(chosen: string) => void} [onChange]
 */
function alternatives(legend, options, name, onChange) {
  const id = `choice-${++count}`;
  let chosen = "";
  const choose = (/** @type {string} */ value) => {
    chosen = value;
    for (const [each, [, part]] of Object.entries(options)) if (part) part.hidden = each !== chosen;
    onChange?.(chosen);
  };
  const first = Object.keys(options)[0];
  const buttons = Object.entries(options).map(([value, [text]]) => {
    const button = input({ type: "radio", name: id, value, checked: value === first, onchange: () => choose(value) });
    return h("label", { class: "choice" }, button, text);
  });
  choose(first);
  return {
    element: h(
      "fieldset",
      { class: "card", "data-field": name, "aria-describedby": `${id}-error`, tabindex: "-1" },
      h("legend", {}, legend),
      ...buttons,
      h("span", { class: "error", id: `${id}-error` }),
      ...Object.values(options).map(([, part]) => part),
    ),
    value: () => chosen,
  };
}

/** The questions of an own questionnaire. */
function editor() {
  const list = h("ol", { class: "questions" });
  /** @type {{element: HTMLElement, data: () => object, name: (place: number) => void}[]} */
  let questions = [];
  const number = () => questions.forEach((each, place) => each.name(place));
  const add = () => {
    const own = {
      name: input({ required: true, pattern: "[a-z][a-z0-9_\\-]{0,39}", maxlength: 40 }),
      text: input({ required: true, maxlength: 20000 }),
      kind: select({ text: "free text", scale: "scale", choice: "choice" }),
      options: area({ rows: 3 }),
      steps: input({ type: "number", min: 2, max: 11, value: 5 }),
      required: input({ type: "checkbox" }),
    };
    const rows = {
      name: field("", "Name in tables", own.name, "Small letters, digits, - and _."),
      text: field("", "What is asked", own.text),
      kind: field("", "Kind", own.kind),
      options: field("", "Options, one in a line", own.options, "Of a scale: the words at both ends."),
      steps: field("", "Steps of the scale", own.steps),
    };
    const show = () => {
      rows.options.hidden = own.kind.value === "text";
      rows.steps.hidden = own.kind.value !== "scale";
    };
    own.kind.addEventListener("change", show);
    show();
    const question = {
      element: h(
        "li",
        {},
        ...Object.values(rows),
        h("label", { class: "choice" }, own.required, "must be answered"),
        h("button", { type: "button", onclick: () => remove() }, "Remove this question"),
      ),
      data: () => ({
        name: own.name.value,
        text: own.text.value,
        kind: own.kind.value,
        ...(own.kind.value === "text" ? {} : { options: lines(own.options.value) }),
        ...(own.kind.value === "scale" ? { steps: own.steps.valueAsNumber } : {}),
        ...(own.required.checked ? { required: true } : {}),
      }),
      name: (/** @type {number} */ place) => {
        for (const [name, row] of Object.entries(rows)) row.dataset.field = `questionnaire.${place}.${name}`;
      },
    };
    const remove = () => {
      questions = questions.filter((each) => each !== question);
      question.element.remove();
      number();
      more.focus();
    };
    questions.push(question);
    list.append(question.element);
    number();
    own.name.focus();
  };
  const more = h("button", { type: "button", onclick: add }, "Add a question");
  return { element: h("div", {}, list, more), data: () => questions.map((each) => each.data()) };
}

/** @param {string} text */
const lines = (text) => text.split("\n").map((line) => line.trim()).filter((line) => line);

/**
 * The form of a new study.
 * @param {Choices} choices
 * @param {(design: object) => Promise<void>} onDesign Makes the study.
 */
export function formOf(choices, onDesign) {
  const title = input({ required: true, maxlength: 200 });
  const names = Object.entries(choices.batteries).map(([name, size]) => [name, `${name} (${size} exercises)`]);
  const battery = select(Object.fromEntries(names));
  const json = area({ rows: 10, spellcheck: "false", class: "code" });
  json.value = JSON.stringify(
    {
      title: "My battery",
      exercises: [
        { environment_class: "lambda-v1(cells=3)", interactions: 10 },
        { environment_class: "cups-v1", interactions: 10 },
      ],
    },
    null,
    2,
  );
  const kind = select(Object.fromEntries(choices.classes.map((each) => [each, each])));
  if (choices.classes.includes("lambda-v1")) kind.value = "lambda-v1";
  const unit = select({ time: "seconds", interactions: "interactions" });
  const amount = input({ type: "number", min: 1, step: "any", value: 600 });
  const slot = input({ type: "number", min: 0, step: "any", placeholder: "10 s, or 1 interaction" });
  const start = input({ type: "number", step: "any", placeholder: "the lowest" });
  const order = select(CHOICES.order);
  const orderField = field("order", "Order of the exercises", order);
  const source = alternatives(
    "Exercises",
    {
      battery: ["A battery that comes with Omnimeter", h("div", {}, field("", "Battery", battery))],
      json: [
        "A battery of your own",
        h("div", {}, field("", "Battery as JSON", json, "Of installed parts only: no files, modules or addresses.")),
      ],
      test: [
        "An anytime test, which chooses its exercises by what the participant does",
        columns(
          field("test.class", "Environment class", kind),
          field("test.time", "Length", amount),
          field("test.interactions", "Measured in", unit),
          field("test.slot", "First exercise", slot, "In the same unit."),
          field("test.start_complexity", "Complexity at the beginning", start),
        ),
      ],
    },
    "battery",
    (chosen) => (orderField.hidden = chosen === "test"),
  );
  const breaks = input({ inputmode: "numeric", placeholder: "such as 3, 5" });
  const environments = select(CHOICES.environments);
  const rewards = select(CHOICES.rewards);
  const colours = input({ type: "checkbox", checked: true });
  const language = select(Object.fromEntries(choices.languages.map((each) => [each, languageName(each)])));
  if (choices.languages.includes("en")) language.value = "en";
  const interruption = select(CHOICES.after_interruption);
  const away = input({ type: "number", min: 0, max: 1e6, step: "any", value: 30, required: true });
  const awayField = field("minutes_away", "If they were away for more than so many minutes", away);
  const showAway = () => (awayField.hidden = interruption.value === "resume");
  interruption.addEventListener("change", showAway);
  showAway();
  const consent = area({ rows: 4, maxlength: 20000 });
  const instructions = area({ rows: 4, maxlength: 20000 });
  const own = editor();
  const asked = alternatives(
    "Questionnaire at the end",
    {
      standard: [`Standard: ${choices.questions.join(", ")}`, null],
      none: ["None", null],
      own: ["Your own questions", own.element],
    },
    "questionnaire",
  );

  /** The design as the form says it. */
  function design() {
    /** @type {Record<string, unknown>} */
    const data = {
      title: title.value,
      environments: environments.value,
      rewards: rewards.value,
      colours: colours.checked,
      language: language.value,
      after_interruption: interruption.value,
      consent: consent.value,
      instructions: instructions.value,
    };
    if (interruption.value !== "resume") data.minutes_away = away.valueAsNumber;
    if (source.value() === "battery") data.battery = battery.value;
    if (source.value() === "json") {
      try {
        data.battery = JSON.parse(json.value);
      } catch (error) {
        throw new Refused("", { battery: `This is not JSON: ${/** @type {Error} */ (error).message}` });
      }
    }
    if (source.value() === "test") {
      data.test = {
        class: kind.value,
        [unit.value]: amount.valueAsNumber,
        ...(slot.value ? { slot: slot.valueAsNumber } : {}),
        ...(start.value ? { start_complexity: start.valueAsNumber } : {}),
      };
    } else {
      data.order = order.value;
    }
    const places = breaks.value.split(/[\s,;]+/).filter((each) => each);
    if (places.some((each) => !/^[1-9]\d{0,5}$/.test(each))) {
      throw new Refused("", { breaks: "Write numbers of exercises with commas between them." });
    }
    if (places.length) data.breaks = places.map(Number);
    if (asked.value() === "none") data.questionnaire = [];
    if (asked.value() === "own") data.questionnaire = own.data();
    return data;
  }

  const wrong = h("p", { class: "error", role: "alert" });
  const button = h("button", { class: "main", type: "submit" }, "Make the study");
  const form = h(
    "form",
    {
      novalidate: true,
      onsubmit: async (event) => {
        event.preventDefault();
        clear(form);
        wrong.textContent = "";
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
      },
    },
    field("title", "Title", title, "Participants see it."),
    source.element,
    group(
      "How they are taken",
      columns(
        orderField,
        field("environments", "Environments", environments),
        field("rewards", "Rewards are shown as", rewards),
        field("breaks", "Breaks after the exercises", breaks, "Their numbers, with commas."),
        field("language", "Language of the pages", language),
        h("label", { class: "choice" }, colours, "cells have colours"),
      ),
    ),
    group(
      "Interruptions",
      columns(field("after_interruption", "Participants who come back", interruption), awayField),
    ),
    group(
      "Texts",
      field("consent", "What participants agree to", consent, "Empty: they are not asked for consent."),
      field("instructions", "Instructions", instructions, "Empty: the standard ones, which tell nothing of the environments."),
    ),
    asked.element,
    wrong,
    button,
  );
  return form;
}

/** @param {string} code */
function languageName(code) {
  try {
    return new Intl.DisplayNames([code], { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}

/** @param {HTMLElement} form */
function clear(form) {
  for (const each of form.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
  for (const each of form.querySelectorAll(".error")) each.textContent = "";
}

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
    if (!place || !shown) {
      rest.push(`${path ? `${path}: ` : ""}${message}.`.replace("..", "."));
      continue;
    }
    shown.textContent = `${shown.textContent} ${message}`.trim();
    place.querySelector("input, select, textarea")?.setAttribute("aria-invalid", "true");
  }
  const first = /** @type {HTMLElement | null} */ (form.querySelector("[aria-invalid]"));
  first?.focus();
  return rest;
}

/** @param {HTMLElement} form @param {string} path */
function fieldOf(form, path) {
  const parts = path === "test" ? ["battery"] : path.split(".");
  for (let count = parts.length; count; count -= 1) {
    const name = parts.slice(0, count).join(".");
    const places = [...form.querySelectorAll(`[data-field="${CSS.escape(name)}"]`)];
    const visible = places.find((each) => !(/** @type {HTMLElement} */ (each).hidden));
    if (visible) return visible;
  }
  return parts[0] === "test" ? form.querySelector('[data-field="battery"]') : null;
}
