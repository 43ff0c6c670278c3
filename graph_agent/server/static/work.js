/** Draws a stretch of work: numbered steps, each with its reasoning and its tool calls. */

import { element, icon } from "./dom.js";
import { count, firstLine } from "./format.js";
import { ToolCard } from "./tool-card.js";

const FOLD_ABOVE = 6; // Tool calls. Longer work folds once it is over, so that the answer is in sight.
const LONG_REASONING = 280; // Characters.

export class Work {
  #title = element("span", {}, "Working");
  #list = element("div", { class: "steps" });
  #steps = new Map();
  #cards = new Map();
  element = element("details", { class: "work", open: true },
    element("summary", {}, icon("chevron"), this.#title), this.#list);

  /** Show why the model does what it does next. */
  reason(data) {
    const text = data.reasoning?.trim();
    if (text) this.#step(data).append(reasoning(text));
  }

  /** A tool call begins. */
  start(data) {
    const card = new ToolCard(data);
    this.#cards.set(data.call_id, card);
    this.#step(data).append(card.element);
  }

  /** A tool call ends; one whose beginning was never seen is drawn whole. */
  finish(data) {
    if (!this.#cards.has(data.call_id)) this.start(data);
    this.#cards.get(data.call_id).finish(data);
  }

  /** Whether this stretch holds the call. */
  has(callId) {
    return this.#cards.has(callId);
  }

  /** Show that older messages were summarised to make room. */
  compacted({ original_messages: before, kept_messages: after }) {
    this.#list.append(element("p", { class: "divider" },
      element("span", {}, `Context compacted: ${count(before, "message")} became ${count(after, "message")}`)));
  }

  /** No more results will come: calls still open stay without one. */
  abandon() {
    this.#cards.forEach((card) => card.abandon());
  }

  /** Something else follows: sum the work up. */
  settle() {
    const calls = this.#cards.size;
    const steps = this.#steps.size;
    this.#title.textContent = [steps && count(steps, "step"), calls && count(calls, "tool call")]
      .filter(Boolean).join(" · ") || "Work";
    if (calls > FOLD_ABOVE && !this.#list.contains(document.activeElement)) this.element.open = false;
  }

  #step({ iteration, step_id: stepId }) {
    const key = `${stepId ?? ""}/${iteration}`;
    if (!this.#steps.has(key)) {
      const label = `${stepId === undefined ? "" : `${stepId} · `}Step ${iteration}`;
      const step = element("section", { class: "step", "aria-label": label }, element("h3", {}, label));
      this.#steps.set(key, step);
      this.#list.append(step);
    }
    return this.#steps.get(key);
  }
}

function reasoning(text) {
  if (text.length <= LONG_REASONING) return element("p", { class: "reasoning", dir: "auto" }, text);
  return element("details", { class: "reasoning" },
    element("summary", { dir: "auto" }, element("span", {}, firstLine(text)), icon("chevron")),
    element("p", { dir: "auto" }, text));
}
