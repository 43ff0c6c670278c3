/** Draws the small pieces of a turn: bubbles, the line of facts below an answer. */

import { copyButton, element } from "./dom.js";
import { count, duration, number } from "./format.js";

const STOPPED = {
  max_iterations: "Stopped at the step limit",
  repeated_calls: "Stopped: it kept making the same call",
  token_limit: "Stopped at the token limit",
  time_limit: "Stopped at the time limit",
  cancelled: "Stopped by you",
  error: "Stopped by an error",
};
const INTERRUPT_MARK = /^\s*\[USER INTERRUPT\]\s*/;

/** Whether a stored message is one that the person added during a run. */
export const isAdded = (text) => INTERRUPT_MARK.test(text);

export function questionBubble(text) {
  return element("div", { class: "question", dir: "auto" }, element("span", { class: "unseen" }, "You: "), text);
}

/** A message added during a run, with what is to be said below it. */
export function addedBubble(content, ...foot) {
  return element("div", { class: "added" },
    element("div", { class: "added-text", dir: "auto" }, content.replace(INTERRUPT_MARK, "")),
    element("div", { class: "added-state" }, ...foot));
}

/** What the run took: steps, tokens, time, and why it stopped if that was not by itself. */
export function factsLine({ iterations, usage, elapsed, stop_reason: reason }, answerText) {
  const facts = [
    iterations !== undefined && count(iterations, "step"),
    usage?.input_tokens !== undefined && `${number(usage.input_tokens)} tokens in`,
    usage?.output_tokens !== undefined && `${number(usage.output_tokens)} out`,
    elapsed !== undefined && duration(elapsed),
  ].filter(Boolean);
  return element("footer", { class: "facts" },
    reason && reason !== "final" ? element("span", { class: "stopped" }, STOPPED[reason] ?? reason) : null,
    element("ul", { "aria-label": "What this answer took" }, ...facts.map((fact) => element("li", {}, fact))),
    answerText && copyButton(answerText, "the answer"));
}
