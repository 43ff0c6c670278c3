/** Talks to the server: one function for each route that the page uses, all relative to the page. */

/** A request that failed. `status` is the HTTP status, or 0 where no reply came. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const path = (id, ...rest) => ["api/threads", encodeURIComponent(id), ...rest].join("/");

/** Start a thread and give its id. */
export async function createThread() {
  const { thread_id: id } = await json("api/threads", { method: "POST", body: {} });
  return id;
}

/** The known threads, newest first, or null where the server keeps no list. */
export async function listThreads() {
  const found = await jsonIfFound("api/threads");
  return found && (Array.isArray(found) ? found : (found.threads ?? []));
}

/** What the server knows of a thread, or null where there is no such thread. */
export const readThread = (id) => jsonIfFound(path(id));

/** Ask a question; gives the body that streams the run's events. */
export const startRun = (id, message, signal) =>
  stream(path(id, "runs"), { method: "POST", body: { message }, signal });

/** Go on with a paused run by decisions; gives the body that streams its further events. */
export const resumeRun = (id, decisions, signal) =>
  stream(path(id, "resume"), { method: "POST", body: { decisions }, signal });

/** Read a run's events again, from the one after `lastId` on, or all of them if it is null. */
export const followRun = (id, lastId, signal) =>
  stream(path(id, "events"), { signal, headers: lastId === null ? {} : { "Last-Event-ID": lastId } });

/** Add a message to the run in progress. */
export const interrupt = (id, content) =>
  json(path(id, "interrupts"), { method: "POST", body: { content } });

/** Take a message back that the run has not read yet. */
export const recall = (id, interruptId) =>
  request(path(id, "interrupts", encodeURIComponent(interruptId)), { method: "DELETE" });

/** Stop the run in progress; its stream then ends by itself. */
export const cancel = (id) => request(path(id, "cancel"), { method: "POST" });

async function stream(address, options) {
  const response = await request(address, { ...options, accept: "text/event-stream" });
  const type = response.headers.get("Content-Type") ?? "no type";
  if (type.startsWith("text/event-stream")) return response.body;
  throw new ApiError(response.status, `The server sent ${type} where a stream of events was due.`);
}

async function json(address, options) {
  return (await request(address, options)).json();
}

async function jsonIfFound(address) {
  try {
    return await json(address);
  } catch (error) {
    if (error.status === 404 || error.status === 405) return null;
    throw error;
  }
}

async function request(address, { method = "GET", body, signal, headers = {}, accept = "application/json" } = {}) {
  const response = await reach(address, {
    method,
    signal,
    headers: { Accept: accept, ...(body && { "Content-Type": "application/json" }), ...headers },
    body: body && JSON.stringify(body),
    cache: "no-store",
  });
  if (!response.ok) throw new ApiError(response.status, await reason(response));
  return response;
}

async function reach(address, options) {
  try {
    return await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The server does not answer. Check that it is running, then try again.");
  }
}

/** What a problem document (RFC 9457) says went wrong, else the bare status. */
async function reason(response) {
  const problem = await response.json().catch(() => ({}));
  const words = [problem.detail, problem.title].find((text) => typeof text === "string" && text);
  return words ?? `The server answered with status ${response.status}.`;
}
