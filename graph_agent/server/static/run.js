/** Follows one run: reads its events into its turn, and comes back to it after a broken connection. */

import { ApiError, followRun, resumeRun, startRun } from "./api.js";
import { ConnectionLost, readEvents } from "./sse.js";

const GONE = [404, 405, 410];

export class Run {
  #threadId;
  #turn;
  #lastId = null;
  #left = new AbortController();

  /** Whether the connection is broken and the person has not reconnected yet. */
  lost = false;

  constructor(threadId, turn) {
    this.#threadId = threadId;
    this.#turn = turn;
  }

  /** Ask, and draw until the run ends. Fails with an ApiError if the server does not begin. */
  async ask(message) {
    this.#turn.begin();
    this.#turn.say("Starting");
    await this.#follow(await startRun(this.#threadId, message, this.#left.signal));
  }

  /** Go on with a run that has paused, by what was decided, and draw on until it ends. */
  async resume(decisions) {
    this.#turn.begin();
    this.#turn.say("Going on");
    await this.#follow(await resumeRun(this.#threadId, decisions, this.#left.signal));
  }

  /** Draw a run that is in progress already, from its first event on. */
  async join() {
    this.#turn.say("Joining the run");
    await this.#follow(await followRun(this.#threadId, null, this.#left.signal));
  }

  /** Stop drawing. The run itself goes on at the server. */
  leave() {
    this.#left.abort();
    this.#turn.settle();
  }

  async #follow(body) {
    while (body && !(await this.#readToEnd(body))) {
      if (this.#left.signal.aborted) return;
      body = await this.#reconnect();
    }
  }

  /** Draw what comes; true once the run has ended, false where the connection did first. */
  async #readToEnd(body) {
    try {
      for await (const { event, data, id } of readEvents(body)) {
        if (this.#left.signal.aborted) return true;
        this.#lastId = id;
        this.#turn.handle(event, JSON.parse(data));
        if (event === "end") return true;
      }
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
    return false;
  }

  async #reconnect() {
    let message = "The connection to the server was lost. Reconnect to see the rest of this run.";
    for (;;) {
      this.lost = true;
      await this.#turn.offerRetry(message);
      try {
        const body = await followRun(this.#threadId, this.#lastId, this.#left.signal);
        this.lost = false;
        if (this.#lastId === null) this.#turn.clear();
        return body;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (GONE.includes(error.status)) return this.#giveUp();
        message = error.message;
      }
    }
  }

  #giveUp() {
    this.#turn.fail("The server has no events of this run any more. Reload the page to see what it saved.");
    return null;
  }
}
