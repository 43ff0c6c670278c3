/** Starts the page: wires the message box, the threads, the address and the runs together. */

import * as api from "./api.js";
import { Composer } from "./composer.js";
import { storedTurns } from "./history.js";
import { Run } from "./run.js";
import { EndKeeper } from "./scroll.js";
import { Side } from "./side.js";
import { Turn } from "./turn.js";
import { Waiting } from "./waiting.js";

const BUSY = "This thread is busy with another run. Wait for it to end, or reload the page to follow it, then send again.";

const byId = (id) => document.getElementById(id);
const turns = byId("turns");
const composer = new Composer({ onsend: send, onstop: stop });
const side = new Side({ onnew: newThread });
const waiting = new Waiting(byId("waiting"));
const end = new EndKeeper(byId("scroller"), byId("latest"));

let threadId = null;
let newest = null; // The last turn: only its calls can wait for a decision.
let current = null; // {run, named, over}: the run that this page follows, and promises of its thread's id and its end.

/** Send what was typed: to the run in progress, else as a new question. */
function send(text) {
  if (current) add(text);
  else ask(text);
}

async function ask(question) {
  showWelcome(false);
  const before = newest;
  const waitAgain = before?.giveUp();
  const turn = draw(question);
  end.follow();
  await follow(turn, (run) => run.ask(question), (error) => {
    turn.element.remove();
    newest = before;
    waitAgain?.();
    showWelcome(!turns.hasChildNodes());
    composer.restore(question);
    composer.notice(error.status === 409 ? BUSY : error.message);
  });
}

/** Go on with a paused run by what the person decided about its calls. */
async function decide(turn, decisions, reopen) {
  const id = threadId;
  await current?.over; // The stream that told of the pause may be ending just now.
  if (threadId !== id || turn !== newest) return;
  composer.notice();
  await follow(turn, (run) => run.resume(decisions), async (error) => {
    if (error.status === 0) reopen();
    else await openThread(id); // It waits no more, or for something else: somebody was faster.
    composer.notice(error.message);
  });
}

/** Follow a run in a turn until it is over; `begin` starts or joins it, `failed` hears if that fails. */
async function follow(turn, begin, failed) {
  const mine = { run: null, named: nameThread() };
  current = mine;
  composer.running(true);
  mine.over = (async () => {
    try {
      await mine.named;
      if (current !== mine) return;
      mine.run = new Run(threadId, turn);
      await begin(mine.run);
    } catch (error) {
      if (error.name !== "AbortError" && !(error instanceof api.ApiError)) throw error;
      if (current === mine) failed(error);
    } finally {
      turn.settle();
      if (current === mine) leave();
      refreshSide();
    }
  })();
  await mine.over;
}

async function nameThread() {
  if (threadId !== null) return;
  const before = location.hash;
  const id = await api.createThread();
  if (location.hash !== before) return; // Another thread was opened meanwhile.
  threadId = id;
  history.replaceState(null, "", `#thread=${encodeURIComponent(id)}`);
}

/** Add a message to the run in progress; one that comes too late becomes the next question. */
async function add(text) {
  const mine = current;
  const message = waiting.add(text);
  end.follow();
  try {
    await mine.named;
    const id = threadId;
    const { id: interruptId } = await api.interrupt(id, text);
    message.queued(interruptId, () => takeBack(message, id, interruptId));
  } catch (error) {
    message.remove();
    if (error.status === 409) await askAfter(mine, text);
    else undo(error, text);
  }
}

async function askAfter(mine, text) {
  if (mine.run?.lost) leave();
  else await mine.over;
  send(text);
}

async function takeBack(message, id, interruptId) {
  try {
    await api.recall(id, interruptId);
    message.remove();
    composer.restore(message.text);
    composer.focus();
  } catch (error) {
    composer.notice(error.message);
  }
}

function undo(error, text) {
  composer.restore(text);
  composer.notice(error.message);
}

async function stop() {
  try {
    await api.cancel(threadId);
  } catch (error) {
    composer.stopping(false);
    composer.notice(error.message);
  }
}

/** Stop following the run; at the server it goes on. */
function leave() {
  current?.run?.leave();
  current = null;
  composer.running(false);
}

function newThread() {
  history.pushState(null, "", location.pathname + location.search);
  side.close();
  openThread(null);
}

/** Show a thread as the server knows it, and join its run if one is in progress. */
async function openThread(id) {
  leave();
  threadId = id;
  turns.replaceChildren();
  newest = null;
  waiting.clear();
  composer.notice();
  side.mark(id);
  showWelcome(id === null);
  if (matchMedia("(pointer: fine)").matches) composer.focus(); // Elsewhere a keyboard would cover the page.
  if (id === null) return;
  try {
    const thread = await api.readThread(id);
    if (threadId === id && thread) showStored(thread);
  } catch (error) {
    composer.notice(error.message);
  }
}

function showStored({ messages = [], running = false, approvals = [] }) {
  const stored = storedTurns(messages, { running, paused: approvals.length > 0 });
  const drawn = stored.map(({ question, events }) => {
    const turn = draw(question);
    events.forEach(([event, data]) => turn.handle(event, data));
    turn.settle();
    return turn;
  });
  approvals.forEach((call) => newest?.handle("approval", call));
  if (approvals.length) newest?.handle("end");
  showWelcome(!drawn.length);
  end.follow();
  if (running && drawn.length) follow(drawn.at(-1), (run) => run.join(), (error) => composer.notice(error.message));
}

function draw(question) {
  const turn = newest = new Turn(question, waiting, decide);
  turns.append(turn.element);
  document.title = `${turns.querySelector(".question").lastChild.textContent.slice(0, 60)} · graph-agent`;
  return turn;
}

function showWelcome(yes) {
  byId("welcome").hidden = !yes;
  if (yes) document.title = "graph-agent";
}

function refreshSide() {
  side.refresh(threadId).catch((error) => composer.notice(error.message));
}

const threadInAddress = () => new URLSearchParams(location.hash.slice(1)).get("thread");

addEventListener("hashchange", () => {
  if (threadInAddress() !== threadId) openThread(threadInAddress());
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.isComposing && !side.close()) composer.focus();
});
byId("skip").addEventListener("click", () => composer.focus());
byId("examples").addEventListener("click", (event) => {
  const example = event.target.closest("button");
  if (example) send(example.textContent);
});

openThread(threadInAddress());
refreshSide();
