/** Shows the messages that a person added and the run has not read yet. */

import { element } from "./dom.js";
import { addedBubble } from "./pieces.js";

export class Waiting {
  #place;
  #queued = new Map(); // Interrupt id → message.
  #read = new Set(); // Ids that were read, perhaps before the server's reply told us that they are ours.

  constructor(place) {
    this.#place = place;
  }

  /** Show a message that is on its way to the server. */
  add(text) {
    const words = element("span", {}, "Sending");
    const bubble = addedBubble(text, words);
    this.#place.append(bubble);
    const message = {
      text,
      remove: () => bubble.remove(),
      /** The server has it: it waits until the run reads it, or the person takes it back. */
      queued: (id, takeBack) => {
        if (this.#read.has(id)) return bubble.remove();
        this.#queued.set(id, message);
        words.textContent = "Waiting to be read";
        words.after(element("button", { type: "button", class: "link", onclick: takeBack }, "Take back"));
      },
    };
    return message;
  }

  /** The run has read these: they are drawn in its turn from now on. */
  read(ids) {
    for (const id of ids) {
      this.#read.add(id);
      this.#queued.get(id)?.remove();
      this.#queued.delete(id);
    }
  }

  clear() {
    this.#place.replaceChildren();
    this.#queued.clear();
  }
}
