/** Parses Server-Sent Events (HTML standard, section 9.2.6), wherever the network cuts them. */

const LINE_END = /\r\n|\r|\n/;
const SILENCE = 45_000; // Milliseconds. A live server sends at least a comment every 15 s.

/** The connection broke while events were still due. */
export class ConnectionLost extends Error {}

/** Turns pieces of text into events; the pieces may end anywhere. */
export class EventParser {
  #rest = "";
  #afterReturn = false;
  #data = [];
  #event = "";
  #id = null;

  /** Take the next piece of text; yields each `{event, data, id}` that it completes. */
  *push(text) {
    if (!text) return;
    // A piece that ended with CR has ended its line; a LF that follows belongs to that same end.
    if (this.#afterReturn && text.startsWith("\n")) text = text.slice(1);
    const lines = (this.#rest + text).split(LINE_END);
    this.#afterReturn = text.endsWith("\r");
    this.#rest = lines.pop();
    for (const line of lines) {
      if (line) this.#field(line);
      else if (this.#data.length) yield this.#dispatch();
      else this.#event = "";
    }
  }

  #field(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return; // A comment: it only keeps the connection alive.
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
  }

  #dispatch() {
    const event = { event: this.#event || "message", data: this.#data.join("\n"), id: this.#id };
    this.#data = [];
    this.#event = "";
    return event;
  }
}

/** Read the events of a response body until it ends. Leaving the loop closes the connection. */
export async function* readEvents(body) {
  const parser = new EventParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await readUnlessSilent(reader);
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {}); // The connection may be gone already; nothing is left to close.
  }
}

async function readUnlessSilent(reader) {
  const timer = setTimeout(() => reader.cancel(), SILENCE);
  try {
    return await reader.read();
  } catch (cause) {
    throw new ConnectionLost("The connection broke.", { cause });
  } finally {
    clearTimeout(timer);
  }
}
