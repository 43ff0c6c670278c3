/** Draws the one line that tells what goes on right now, and for how long. */

import { element } from "./dom.js";

export class StatusLine {
  #words = element("span", { class: "shimmer" });
  #seconds = element("span", { class: "seconds", "aria-hidden": "true" });
  #timer = 0;
  element = element("p", { class: "status", role: "status" });

  say(text) {
    this.#words.textContent = text;
    this.#seconds.textContent = "";
    const start = Date.now();
    clearInterval(this.#timer);
    this.#timer = setInterval(() => {
      this.#seconds.textContent = `${Math.round((Date.now() - start) / 1000)} s`;
    }, 1000);
    if (!this.element.hasChildNodes()) {
      this.element.append(element("span", { class: "pulse", "aria-hidden": "true" }), this.#words, this.#seconds);
    }
  }

  clear() {
    clearInterval(this.#timer);
    this.element.replaceChildren();
  }
}
