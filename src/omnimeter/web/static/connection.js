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

export class Connection {
  /** @type {{message: Message, stage: string} | null} */ #pending = null;
  #again = false; // whether the pending answer is to be sent on this connection
  #joined = false; // whether this connection has brought a state
  #overdue = 0;
  #stage = "";

  /** @param {string} path @param {Listeners} listeners */
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
        this.#joined = this.#again = status === "open";
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
    this.#joined = false;
    clearTimeout(this.#overdue);
    this.socket.stop();
  }

  /** Send what need not arrive. @param {Message} message */
  #tell(message) {
    if (this.#joined) this.socket.send(message);
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

  #send() {
    this.#again = false;
    if (this.#pending) this.socket.send(this.#pending.message);
    clearTimeout(this.#overdue);
    this.#overdue = window.setTimeout(() => this.socket.lose(), OVERDUE);
  }
}
