/** Draws one turn, a question and all that the run answers to it, from the events of the run. */

import { Answer } from "./answer.js";
import { Approvals } from "./approvals.js";
import { element, icon } from "./dom.js";
import { addedBubble, factsLine, questionBubble } from "./pieces.js";
import { StatusLine } from "./status.js";
import { Work } from "./work.js";

const PHASES = {
  selecting_tools: ({ total_tools: total }) => `Choosing from ${total} tools`,
  planning: () => "Making a plan",
  executing: () => "Working through the plan",
  analyzing: () => "Checking what was found",
};

export class Turn {
  #reply = element("div", { class: "reply" });
  #status = new StatusLine();
  #works = [];
  #work = null; // The stretch of work that new steps join; null after an answer or an added message.
  #answers = [];
  #running = new Map(); // Call id → tool name, of the calls in progress.
  #waiting;
  #approvals = null; // The calls of the newest pause that wait, or waited, for a person.
  #ondecided;
  #earlier = { nodes: 0, works: 0, answers: 0 }; // What earlier stretches of the run have drawn.

  /** `waiting` hears which added messages the run has read, `ondecided` what to go on with after a pause. */
  constructor(question, waiting, ondecided) {
    this.#waiting = waiting;
    this.#ondecided = ondecided;
    this.element = element("article", { class: "turn" },
      questionBubble(question), this.#reply, this.#status.element);
  }

  /** Draw one event of the run. Kinds that this page does not know are left out. */
  handle(event, data) {
    const draw = {
      step: () => this.#step(data),
      answer: () => this.#answer(data),
      compact: () => this.#working().compacted(data),
      phase: () => this.#status.say(PHASES[data.phase]?.(data) ?? String(data.phase)),
      inject: () => this.#inject(data),
      approval: () => this.#approval(data),
      done: () => this.#done(data),
      error: () => this.#error(data),
      end: () => this.#end(),
    }[event];
    draw?.();
  }

  /** Say what goes on from now until the next event. */
  say(text) {
    this.#status.say(text);
  }

  /** A stretch of the run begins: what stands here already is of earlier ones. */
  begin() {
    this.#earlier = {
      nodes: this.#reply.childElementCount, works: this.#works.length, answers: this.#answers.length,
    };
  }

  /** Forget what this stretch has drawn: its events come again from the first. */
  clear() {
    const { nodes, works, answers } = this.#earlier;
    [...this.#reply.children].slice(nodes).forEach((node) => node.remove());
    this.#works.length = works;
    this.#answers.length = answers;
    this.#work = null;
    this.#approvals = null;
  }

  /** Say that nobody waits for decisions any more; gives what takes that back. */
  giveUp() {
    return this.#approvals?.giveUp() ?? (() => {});
  }

  /** Nothing more will come: stop everything that moves. */
  settle() {
    this.#works.forEach((work) => work.abandon());
    this.#endWork();
    this.#answers.forEach((answer) => answer.finish());
    this.#status.clear();
  }

  /** Say why there is no, or no full, answer. */
  fail(message) {
    this.settle();
    this.#append(element("p", { class: "alert", role: "alert" }, message));
  }

  /** Say what broke, and wait until the person wants to try again. */
  offerRetry(message) {
    this.#status.clear();
    return new Promise((resolve) => {
      const button = element("button", { type: "button", class: "outlined" }, icon("retry"), "Reconnect");
      const alert = element("div", { class: "alert", role: "alert" }, element("p", {}, message), button);
      button.addEventListener("click", () => {
        alert.remove();
        this.say("Reconnecting");
        resolve();
      });
      this.#append(alert);
    });
  }

  #step(data) {
    if (data.type === "thinking") this.#thinking(data);
    else if (data.type === "iteration") this.#toolCall(data);
    else if (data.type === "answer") this.#status.say("Writing the answer");
  }

  #thinking(data) {
    if (data.status === "start") this.#status.say(`Thinking · step ${data.iteration}`);
    else if (data.reasoning?.trim()) this.#working().reason(data);
  }

  #toolCall(data) {
    const work = this.#works.find((each) => each.has(data.call_id)) ?? this.#working();
    if (data.status === "start") {
      this.#running.set(data.call_id, data.tool_name);
      work.start(data);
    } else {
      this.#running.delete(data.call_id);
      work.finish(data);
    }
    const names = [...new Set(this.#running.values())];
    this.#status.say(names.length ? `Running ${names.join(", ")}` : "Reading the results");
  }

  #answer({ status, content }) {
    if (status === "start") this.#begin(new Answer());
    const answer = this.#answers.at(-1) ?? this.#begin(new Answer());
    if (status === "delta") answer.add(content);
    else if (status === "reset") answer.reset();
    else if (status === "done") answer.finish();
  }

  #begin(answer) {
    this.#answers.push(answer);
    this.#append(answer.element);
    return answer;
  }

  #inject({ content, ids = [] }) {
    this.#waiting.read(ids);
    this.#append(addedBubble(content, element("span", {}, "Added while it worked")));
  }

  #approval(data) {
    if (!this.#approvals?.open) {
      this.#approvals = new Approvals((decisions, reopen) => this.#ondecided(this, decisions, reopen));
    }
    this.#append(this.#approvals.add(data));
  }

  #error({ message }) {
    this.giveUp();
    this.fail(message);
  }

  #end() {
    this.settle();
    this.#approvals?.complete();
  }

  #done(data) {
    this.settle();
    if (data.answer && !this.#answers.some((answer) => answer.text.trim())) {
      const answer = this.#begin(new Answer());
      answer.add(data.answer);
      answer.finish();
    }
    const last = this.#answers.at(-1);
    this.#append(factsLine(data, last?.text ? () => last.text : null));
  }

  #working() {
    if (!this.#work) {
      const work = new Work();
      this.#append(work.element);
      this.#works.push(work);
      this.#work = work;
    }
    return this.#work;
  }

  #append(node) {
    this.#endWork();
    this.#reply.append(node);
  }

  #endWork() {
    this.#work?.settle();
    this.#work = null;
  }
}
