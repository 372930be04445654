/** The connection of a participant's page: it keeps an answer until the server has counted it. */

import { Socket } from "./page.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Reward} Reward */

/**
 * @typedef {object} State What the server wants to be shown.
 * @property {"state"} type
 * @property {string} stage
 * @property {number} [seq] Counts what the test has waited for.
 * @property {"busy" | "ready" | "asked" | "over" | "closed"} [phase]
 * @property {number} [exercise]
 * @property {number} [of]
 * @property {Reward} [reward]
 * @property {Scene | null} [scene]
 * @property {{scene: Scene | null, reward: Reward} | null} [last] What the last action of the test brought.
 * @property {boolean} [break]
 * @property {boolean} [trouble]
 */

/** @typedef {{type: string, seq?: number} & Record<string, unknown>} Message */

/**
 * @typedef {object} Listeners
 * @property {(state: State, waiting: boolean) => void} onState Waiting: for an answer to count.
 * @property {(status: import("./page.js").Status) => void} onStatus
 * @property {(why: string) => void} onRefused An answer is not accepted, and will not be.
 */

const ALIVE = 10_000;
const OVERDUE = 20_000; // an answer that is not counted by then is on a connection that is dead
const [MESSAGES, WITHIN] = [280, 10_000]; // a little less than the server accepts

export class Connection {
  /** @type {{message: Message, stage: string} | null} */ #pending = null;
  #again = false; // whether the pending answer is to be sent on this connection
  #joined = 0; // counts connections that have brought a state; 0 while there is none
  #connections = 0;
  #overdue = 0;
  #stage = "";
  /** @type {number[]} */ #recent = [];

  /**
   * @param {string} path
   * @param {Listeners} listeners
   */
  constructor(path, listeners) {
    this.listeners = listeners;
    document.addEventListener("visibilitychange", () =>
      this.#tell({ type: "hidden", hidden: document.hidden }),
    );
    setInterval(() => this.#tell({ type: "alive" }), ALIVE);
    this.socket = new Socket(
      path,
      (message) => this.#receive(message),
      (status) => {
        clearTimeout(this.#overdue);
        this.#joined = status === "open" ? ++this.#connections : 0;
        this.#again = status === "open";
        this.#recent = [];
        listeners.onStatus(status);
      },
    );
  }

  /**
   * Give an answer; it is kept, and sent again after a lost connection, until it has counted.
   * @param {Message} message
   */
  answer(message) {
    if (this.#pending) return;
    this.#pending = { message, stage: this.#stage };
    if (this.#joined) this.#send();
  }

  /** End it for good. */
  stop() {
    this.#joined = 0;
    clearTimeout(this.#overdue);
    this.socket.stop();
  }

  /** Send what need not arrive. @param {Message} message */
  #tell(message) {
    if (!this.#joined || this.#wait() > 0) return;
    this.#recent.push(Date.now());
    this.socket.send(message);
  }

  /** @param {State | {type: "refused", why: string}} message */
  #receive(message) {
    if (message.type === "refused") {
      this.#forget();
      this.listeners.onRefused(message.why);
      return;
    }
    this.#stage = message.stage;
    if (this.#pending) {
      const place = this.#placeOf(message);
      if (place === "past") this.#forget();
      else if (place === "asked" && this.#again) this.#send();
    }
    this.listeners.onState(message, this.#pending !== null);
    if (message.stage === "withdrawn") this.stop();
  }

  /**
   * Whether a state still asks for the pending answer, is past it, or leaves that open.
   * @param {State} state
   * @returns {"asked" | "past" | "open"}
   */
  #placeOf(state) {
    const { message, stage } = /** @type {{message: Message, stage: string}} */ (this.#pending);
    if (state.stage !== stage) return "past";
    if (message.seq === undefined) return "asked";
    if (state.phase === "asked" || state.phase === "ready") {
      return state.seq === message.seq ? "asked" : "past";
    }
    return "open";
  }

  #forget() {
    this.#pending = null;
    clearTimeout(this.#overdue);
  }

  /** Send the pending answer, as soon as the server accepts further messages. */
  #send() {
    this.#again = false;
    const wait = this.#wait();
    const joined = this.#joined;
    if (wait > 0) {
      setTimeout(() => {
        if (this.#pending && joined === this.#joined) this.#send();
      }, wait);
      return;
    }
    this.#recent.push(Date.now());
    if (this.#pending) this.socket.send(this.#pending.message);
    clearTimeout(this.#overdue);
    this.#overdue = window.setTimeout(() => this.socket.lose(), OVERDUE);
  }

  /** How long the server would refuse a further message, in milliseconds. */
  #wait() {
    const now = Date.now();
    this.#recent = this.#recent.filter((each) => now - each < WITHIN);
    return this.#recent.length < MESSAGES ? 0 : this.#recent[0] + WITHIN - now;
  }
}
