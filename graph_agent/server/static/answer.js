/** Draws one answer as it streams in, at most once a frame, however fast the words come. */

import { element } from "./dom.js";
import { MarkdownView } from "./markdown.js";

export class Answer {
  text = "";
  element = element("div", { class: "answer prose", dir: "auto", "aria-live": "polite", "aria-busy": "true" });
  #view = new MarkdownView(this.element);
  #cost = 0; // Milliseconds that the last drawing took.
  #timer = 0;
  #frame = 0;
  #finished = false;

  add(text) {
    this.text += text;
    this.#drawSoon();
  }

  /** Forget what was streamed: another text follows. */
  reset() {
    this.text = "";
    this.#drawSoon();
  }

  finish() {
    if (this.#finished) return;
    this.#finished = true;
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.#view.finish(this.text);
    this.element.setAttribute("aria-busy", "false");
  }

  #drawSoon() {
    if (this.#timer) return;
    // A long text takes longer to draw: waiting in proportion leaves the page three quarters of its time.
    this.#timer = setTimeout(() => {
      this.#frame = requestAnimationFrame(() => this.#draw());
    }, this.#cost * 3);
  }

  #draw() {
    const start = performance.now();
    this.#timer = 0;
    this.#view.grow(this.text);
    this.#cost = performance.now() - start;
  }
}
