/**
 * The connection of a participant's page: it is made again when it is lost, and keeps an answer
 * until the server has counted it.
 */

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
 * @property {number} [step]
 * @property {Reward} [reward]
 * @property {Scene | null} [scene]
 * @property {boolean} [break]
 * @property {boolean} [trouble]
 */

/** @typedef {{type: string, seq?: number} & Record<string, unknown>} Message */

/**
 * @typedef {"connecting" | "open" | "lost" | "crowded" | "expired" | "unknown"} Status
 * Crowded: there are too many pages of this participant, or on the server. The last two are for good.
 */

/**
 * @typedef {object} Listeners
 * @property {(state: State, waiting: boolean) => void} onState Waiting: for an answer to count.
 * @property {(status: Status) => void} onStatus
 * @property {(why: string) => void} onRefused An answer is not accepted, and will not be.
 */

const CODES = new Map(
  /** @type {[number, Status][]} */ ([
    [4404, "unknown"],
    [4410, "expired"],
    [4429, "crowded"],
  ]),
);
const ALIVE = 10_000;
const [FIRST_DELAY, LONGEST_DELAY, CROWDED_DELAY] = [300, 8_000, 10_000];
const OVERDUE = 20_000; // an answer that is not counted by then is on a connection that is dead
const [MESSAGES, WITHIN] = [280, 10_000]; // a little less than the server accepts

export class Connection {
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {{message: Message, stage: string} | null} */ #pending = null;
  #again = false; // whether the pending answer is to be sent on this connection
  #joined = false; // whether this connection has brought a state
  #delay = FIRST_DELAY;
  #retry = 0;
  #overdue = 0;
  #stage = "";
  /** @type {number[]} */ #recent = [];

  /**
   * @param {string} address
   * @param {Listeners} listeners
   */
  constructor(address, listeners) {
    this.address = address;
    this.listeners = listeners;
    addEventListener("offline", () => this.#lose("lost", FIRST_DELAY));
    addEventListener("online", () => this.#hurry());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.#hurry();
      this.tell({ type: "hidden", hidden: document.hidden });
    });
    setInterval(() => this.tell({ type: "alive" }), ALIVE);
    this.#connect();
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

  /**
   * Send what need not arrive.
   * @param {Message} message
   */
  tell(message) {
    if (!this.#joined || this.#wait() > 0) return;
    this.#recent.push(Date.now());
    this.#socket?.send(JSON.stringify(message));
  }

  /** End it for good. */
  stop() {
    clearTimeout(this.#retry);
    clearTimeout(this.#overdue);
    const socket = this.#socket;
    this.#socket = null;
    this.#joined = false;
    this.#retry = -1;
    socket?.close();
  }

  #connect() {
    this.#retry = 0;
    const socket = new WebSocket(this.address);
    this.#socket = socket;
    this.#recent = [];
    socket.addEventListener("message", (event) => {
      if (socket === this.#socket) this.#receive(JSON.parse(event.data));
    });
    socket.addEventListener("close", (event) => {
      if (socket !== this.#socket) return;
      const status = CODES.get(event.code) ?? "lost";
      if (status === "unknown" || status === "expired") {
        this.stop();
        this.listeners.onStatus(status);
      } else {
        this.#lose(status, status === "crowded" ? CROWDED_DELAY : this.#delay);
      }
    });
  }

  /**
   * Give a connection up, and make another one later.
   * @param {Status} status
   * @param {number} delay
   */
  #lose(status, delay) {
    if (!this.#socket) return;
    const socket = this.#socket;
    this.#socket = null;
    this.#joined = false;
    clearTimeout(this.#overdue);
    socket.close();
    this.listeners.onStatus(status);
    this.#delay = Math.min(LONGEST_DELAY, this.#delay * 1.7);
    const spread = 0.8 + 0.4 * Math.random(); // so that not all pages come back at once
    this.#retry = window.setTimeout(() => this.#connect(), delay * spread);
  }

  /** Do not wait any longer for the next connection. */
  #hurry() {
    if (this.#retry <= 0) return;
    clearTimeout(this.#retry);
    this.#connect();
  }

  /** @param {State | {type: "refused", why: string}} message */
  #receive(message) {
    if (message.type === "refused") {
      this.#forget();
      this.listeners.onRefused(message.why);
      return;
    }
    this.#stage = message.stage;
    if (!this.#joined) {
      this.#joined = true;
      this.#again = true;
      this.#delay = FIRST_DELAY;
      this.listeners.onStatus("open");
    }
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
    const socket = this.#socket;
    if (wait > 0) {
      setTimeout(() => {
        if (this.#pending && socket === this.#socket) this.#send();
      }, wait);
      return;
    }
    this.#recent.push(Date.now());
    socket?.send(JSON.stringify(this.#pending?.message));
    clearTimeout(this.#overdue);
    this.#overdue = window.setTimeout(() => this.#lose("lost", FIRST_DELAY), OVERDUE);
  }

  /** How long the server would refuse a further message, in milliseconds. */
  #wait() {
    const now = Date.now();
    this.#recent = this.#recent.filter((each) => now - each < WITHIN);
    return this.#recent.length < MESSAGES ? 0 : this.#recent[0] + WITHIN - now;
  }
}
