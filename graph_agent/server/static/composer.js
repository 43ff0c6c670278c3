/** The message box: sends on Enter, grows with its text, and stays usable while a run goes on. */

const byId = (id) => document.getElementById(id);

export class Composer {
  #box = byId("message");
  #send = byId("send");
  #stop = byId("stop");
  #stopLabel = byId("stop-label");
  #notice = byId("notice");

  constructor({ onsend, onstop }) {
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(onsend);
    });
    this.#box.addEventListener("keydown", (event) => {
      // While an input method composes (Korean, Japanese …), Enter only accepts its suggestion.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      this.#submit(onsend);
    });
    this.#box.addEventListener("input", () => this.#fit());
    this.#stop.addEventListener("click", () => {
      this.stopping(true);
      onstop();
    });
  }

  focus() {
    this.#box.focus();
  }

  /** Show whether a run goes on: sending then adds to it. */
  running(yes) {
    this.#stop.hidden = !yes;
    this.stopping(false);
    this.#box.placeholder = yes ? "Add a message" : "Ask anything";
    this.#send.setAttribute("aria-label", yes ? "Add to the run" : "Send");
    this.#fit();
  }

  stopping(yes) {
    this.#stop.disabled = yes;
    this.#stopLabel.textContent = yes ? "Stopping" : "Stop";
  }

  /** Put a text back that could not be sent, unless another one is being written. */
  restore(text) {
    if (!this.#box.value.trim()) this.#box.value = text;
    this.#fit();
  }

  /** Say why something failed; without a text, say nothing any more. */
  notice(text = "") {
    this.#notice.textContent = text;
    this.#notice.hidden = !text;
  }

  #submit(onsend) {
    const text = this.#box.value.trim();
    if (!text) return;
    this.#box.value = "";
    this.#fit();
    this.notice();
    onsend(text);
  }

  #fit() {
    this.#send.disabled = !this.#box.value.trim();
    this.#box.style.height = "auto";
    this.#box.style.height = `${this.#box.scrollHeight}px`;
  }
}
