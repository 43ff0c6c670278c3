/** Draws stored messages, by turning them into the events that a run would have sent. */

import { isAdded } from "./pieces.js";

const ROLES = { human: "user", ai: "assistant" };

/**
 * Split stored messages into turns, each a question and the events of its answer.
 *
 * Of a run that is still in progress only the question is taken: its events follow from the server.
 * Of one that is paused, the calls that have not run are left out: those that wait are drawn as such.
 */
export function storedTurns(messages, { running, paused }) {
  const turns = [];
  const known = messages.map((message) => ({ ...message, role: ROLES[message.role] ?? message.role }));
  known.forEach((message, index) => {
    const text = textOf(message.content);
    if (message.role === "user" && !(turns.length && isAdded(text))) turns.push({ question: text, events: [], step: 0 });
    else if (turns.length) turns.at(-1).events.push(...eventsOf(message, text, turns.at(-1), known[index + 1]));
  });
  if (running && turns.length) turns.at(-1).events = [];
  if (paused && turns.length) turns.at(-1).events = withoutOpenCalls(turns.at(-1).events);
  return turns;
}

function withoutOpenCalls(events) {
  const ended = new Set(events.filter(([, data]) => data.status === "done").map(([, data]) => data.call_id));
  return events.filter(([, data]) => data.status !== "start" || !data.call_id || ended.has(data.call_id));
}

function eventsOf(message, text, turn, next) {
  if (message.role === "user") return [["inject", { content: text }]];
  if (message.role === "tool") return [["step", toolDone(message, text, turn.step)]];
  if (message.role !== "assistant") return [];
  if (message.tool_calls?.length) return callEvents(message, text, ++turn.step);
  // The loop's last words and the written answer may both be stored: the later one is the answer.
  const replaced = next?.role === "assistant" && !next.tool_calls?.length;
  return text && !replaced ? answerEvents(text) : [];
}

function callEvents(message, text, iteration) {
  const reasoning = message.reasoning || text;
  const starts = message.tool_calls.map((call) => ["step", {
    type: "iteration", status: "start", iteration, call_id: call.id,
    tool_name: call.name ?? call.function?.name, tool_args: call.args ?? call.function?.arguments,
  }]);
  return [["step", { type: "thinking", status: "done", iteration, reasoning }], ...starts];
}

const toolDone = (message, text, iteration) => ({
  type: "iteration", status: "done", iteration, call_id: message.tool_call_id,
  tool_name: message.name ?? "tool", observation: text, error: message.status === "error",
  iter_elapsed: message.iter_elapsed, artifacts: message.artifacts,
});

const answerEvents = (content) => [
  ["answer", { status: "start" }], ["answer", { status: "delta", content }], ["answer", { status: "done" }],
];

/** The text of a message, whose content is text or a list of blocks. */
export function textOf(content) {
  if (!Array.isArray(content)) return String(content ?? "");
  return content.map((block) => (typeof block === "string" ? block : (block.text ?? `[${block.type}]`))).join("\n");
}
