/**
 * Scenes and rewards as SVG, to be seen, pointed at, and acted on by keyboard and screen reader.
 * Nothing here says what is good: a picture has symbols, and what it contains is told by their names.
 */

import { h, say, svg } from "./page.js";

/** @typedef {import("./page.js").Texts} Texts */

/**
 * @typedef {object} Shape
 * @property {string} tag
 * @property {Record<string, string | number>} attributes
 * @property {string} text
 */

/**
 * @typedef {object} Part What belongs together, such as a cell and what is in it.
 * @property {Shape[]} shapes The lowest first.
 * @property {string} name What it is: cell, state, cup and so on.
 * @property {number} number Which of these, from 1 on; 0 for what is not counted.
 * @property {string[]} contains The words for what is in it.
 * @property {number[]} actions The actions that lead there.
 * @property {[number, number, number, number]} box Left, top, width, height.
 */

/**
 * @typedef {object} Scene
 * @property {number} width
 * @property {number} height
 * @property {Part[]} parts
 * @property {string[]} buttons The names of the actions, where they are not all in the picture.
 */

/**
 * @typedef {object} Reward What the study shows of a reward.
 * @property {"up" | "neutral" | "down"} sign
 * @property {number} [steps] From -3 to 3.
 * @property {number} [number]
 */

/** @typedef {(action: number, event: Event) => void} OnAction */

/**
 * @typedef {object} Options
 * @property {Texts} texts
 * @property {OnAction} [onAction] What an action does; without it the picture is only seen.
 * @property {boolean} [enabled] Whether actions can be done now.
 */

/**
 * @typedef {object} Drawing
 * @property {(enabled: boolean) => void} enable Let actions be done, or not.
 * @property {(event: KeyboardEvent) => boolean} press Do what a key stands for; whether it does.
 */

const TAGS = new Set(["rect", "circle", "polygon", "line", "path", "text"]);
const ARROWS = new Map(["Up", "Down", "Left", "Right"].map((n) => [`Arrow${n}`, n.toLowerCase()]));

/**
 * Draw a scene into a container, instead of what is there; the focus stays where it was.
 * @param {Element} container
 * @param {Scene} scene
 * @param {Options} options
 * @returns {Drawing}
 */
export function drawScene(container, scene, { texts, onAction, enabled = true }) {
  let open = enabled;
  /** @param {number} action @param {Event} event */
  const act = (action, event) => {
    if (open) onAction?.(action, event);
  };
  const hasKeys = !scene.buttons.length;
  const parts = scene.parts.map((part) => drawPart(part, texts, hasKeys, onAction && act));
  const viewBox = `0 0 ${scene.width} ${scene.height}`;
  const label = say(texts, "picture");
  const drawn = svg("svg", { class: "scene", role: "group", "aria-label": label, viewBox }, ...parts);
  const frame = h("div", { class: "frame" }, drawn);
  frame.style.setProperty("--wide", String(scene.width)); // in cells; the style sheet makes it fit
  frame.style.setProperty("--high", String(scene.height));
  const buttons = onAction ? drawButtons(scene.buttons, texts, act) : [];
  const own = container.contains(document.activeElement) ? document.activeElement : null;
  const place = own?.getAttribute("data-place");
  container.replaceChildren(frame);
  if (buttons.length) container.append(h("div", { class: "actions" }, ...buttons));
  const targets = [...container.querySelectorAll("[data-place]")];
  if (place) {
    const same = targets.find((each) => each.getAttribute("data-place") === place) ?? targets[0];
    if (same instanceof HTMLElement || same instanceof SVGElement) {
      same.focus({ preventScroll: true });
    }
  }

  const enable = (/** @type {boolean} */ now) => {
    open = now;
    container.classList.toggle("waiting", !now);
    for (const each of targets) each.setAttribute("aria-disabled", String(!now));
  };
  enable(enabled);
  return {
    enable,
    press(event) {
      const action = onAction ? actionOfKey(scene, event.key) : undefined;
      if (action === undefined) return false;
      if (!event.repeat) act(action, event); // a key that is held down is pressed once
      return true;
    },
  };
}

/**
 * @param {Part} part
 * @param {Texts} texts
 * @param {boolean} hasKeys Whether the number of a part is the key for it.
 * @param {OnAction} [act]
 * @returns {SVGElement}
 */
function drawPart(part, texts, hasKeys, act) {
  const shapes = part.shapes
    .filter((shape) => TAGS.has(shape.tag))
    .map((shape) => svg(shape.tag, shape.attributes, shape.text));
  const [x, y, width, height] = part.box;
  const label = describe(part, texts, Boolean(act));
  if (!act || !part.actions.length) {
    const drawn = svg("g", {}, ...shapes);
    if (label) drawn.setAttribute("role", "img");
    drawn.setAttribute(label ? "aria-label" : "aria-hidden", label || "true");
    return drawn;
  }
  /** @param {number} by @param {string} name */
  const inset = (by, name) =>
    svg("rect", {
      class: name,
      x: x + by,
      y: y + by,
      width: width - 2 * by,
      height: height - 2 * by,
      rx: 0.06,
    });
  const key = { class: "key", x: x + 0.23, y: y + 0.23, "aria-hidden": "true" };
  const choose = (/** @type {Event} */ event) => act(part.actions[0], event);
  return svg(
    "g",
    {
      class: "part",
      role: "button",
      tabindex: 0,
      "aria-label": label,
      "data-place": `${part.name} ${part.number}`,
      onclick: choose,
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        if (!event.repeat) choose(event);
      },
    },
    ...shapes,
    inset(0.13, "inner-border"),
    inset(0.02, "focus-ring"),
    inset(0, "target"),
    hasKeys && part.number > 0 && part.number < 10 && svg("text", key, String(part.number)),
  );
}

/**
 * What a part is, in words.
 * @param {Part} part
 * @param {Texts} texts
 * @param {boolean} acting Whether it matters if it can be reached.
 * @returns {string}
 */
function describe(part, texts, acting) {
  if (!part.name) return "";
  /** @param {string} key @param {string} word */
  const word = (key, word) => texts[`${key}-${word}`] ?? word;
  const inside = part.contains.filter(Boolean).map((each) => word("contains", each));
  if (!part.number) return inside.join(", ");
  const contents = inside.join(", ") || say(texts, "contains-empty");
  const name = word("part", part.name);
  const label = say(texts, "part-label", { part: name, number: part.number, contents });
  return acting && part.actions.length ? `${label} ${say(texts, "part-reachable")}` : label;
}

/**
 * @param {string[]} names
 * @param {Texts} texts
 * @param {OnAction} act
 * @returns {HTMLElement[]}
 */
function drawButtons(names, texts, act) {
  return names.map((name, action) => {
    const label = texts[`button-${name}`] ?? name;
    const key = String(action + 1);
    const isNamed = action > 8 || label.endsWith(key);
    return h(
      "button",
      {
        type: "button",
        "data-place": `button ${action}`,
        onclick: (event) => act(action, event),
        onkeydown: (event) => {
          if (event.repeat && (event.key === "Enter" || event.key === " ")) event.preventDefault();
        },
      },
      label,
      !isNamed && " ",
      !isNamed && h("kbd", { "aria-hidden": "true" }, key),
    );
  });
}

/**
 * The action of a key: a number stands for a button or a part, an arrow for the button of its name.
 * @param {Scene} scene
 * @param {string} key
 * @returns {number | undefined}
 */
function actionOfKey(scene, key) {
  const arrow = ARROWS.get(key);
  if (arrow) {
    const action = scene.buttons.indexOf(arrow);
    return action < 0 ? undefined : action;
  }
  if (!/^[1-9]$/.test(key)) return undefined;
  if (scene.buttons.length) return Number(key) <= scene.buttons.length ? Number(key) - 1 : undefined;
  return scene.parts.find((part) => part.number === Number(key) && part.actions.length)?.actions[0];
}

const SIGNS = {
  up: "M12 4.5 L18.5 12 H14.5 V19 H9.5 V12 H5.5 Z",
  neutral: "M9 9 H15 V15 H9 Z",
  down: "M12 19.5 L18.5 12 H14.5 V5 H9.5 V12 H5.5 Z",
};

/**
 * What a reward is, in words.
 * @param {Reward} reward
 * @param {Texts} texts
 * @param {string} language
 * @returns {string}
 */
export function describeReward(reward, texts, language) {
  const told = say(texts, `reward-${reward.sign}`);
  if (reward.number !== undefined) return `${told}: ${signed(reward.number, language)}`;
  return reward.steps === undefined ? told : `${told}: ${signed(reward.steps, language)}`;
}

/** @param {number} value @param {string} language @returns {string} */
function signed(value, language) {
  return new Intl.NumberFormat(language, { signDisplay: "exceptZero" }).format(value);
}

/**
 * The sign of a reward: an arrow up in green, a small square in grey or an arrow down in red; as
 * often as it has steps, or with its number.
 * @param {Reward} reward
 * @param {Texts} texts
 * @param {string} language
 * @returns {HTMLElement}
 */
export function drawReward(reward, texts, language) {
  const sign = () =>
    svg(
      "svg",
      { class: `sign ${reward.sign}`, viewBox: "0 0 24 24", "aria-hidden": "true" },
      svg("circle", { cx: 12, cy: 12, r: 11.5 }),
      svg("path", { d: SIGNS[reward.sign] }),
    );
  const signs = Array.from({ length: Math.abs(reward.steps ?? 1) || 1 }, sign);
  const label = describeReward(reward, texts, language);
  const drawn = h("span", { class: "reward", role: "img", "aria-label": label }, ...signs);
  if (reward.number !== undefined) {
    drawn.append(h("span", { class: "amount" }, signed(reward.number, language)));
  }
  return drawn;
}
