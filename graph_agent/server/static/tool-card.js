/** Draws one tool call: its name and arguments, then its result, seconds and state. */

import { element, icon } from "./dom.js";
import { argumentLine, duration, firstLine, pretty } from "./format.js";

const OPEN_AFTER = 500; // Milliseconds. A call that ends sooner would only flicker open and shut.

export class ToolCard {
  #mark = element("span", { class: "mark" });
  #state = element("span", { class: "unseen" });
  #seconds = element("span", { class: "seconds" });
  #outcome = element("span", { class: "outcome", dir: "auto" });
  #body = element("div", { class: "tool-body" });
  #opening;

  constructor({ tool_name: name, tool_args: args }) {
    const line = element("span", { class: "call" },
      element("span", { class: "tool-name" }, name),
      element("span", { class: "tool-args", dir: "auto" }, argumentLine(args)));
    this.element = element("details", { class: "tool" },
      element("summary", {}, this.#mark, element("span", { class: "lines" }, line, this.#outcome),
        this.#seconds, this.#state, icon("chevron")),
      this.#body);
    this.#show("running", element("span", { class: "spinner" }));
    this.#block("Arguments", pretty(args ?? {}));
    this.#opening = setTimeout(() => (this.element.open = true), OPEN_AFTER);
  }

  /** Fill in how the call ended, and fold. */
  finish({ observation, error, iter_elapsed: seconds, artifacts }) {
    this.#fold();
    const failed = Boolean(error);
    const text = String(observation ?? (typeof error === "string" ? error : "")) || "No output.";
    this.#show(failed ? "failed" : "done", icon(failed ? "cross" : "check"));
    this.#outcome.textContent = firstLine(text);
    this.#block(failed ? "Error" : "Result", pretty(text));
    if (artifacts?.length) this.#block("Artifacts", artifacts.map(artifactName).join("\n"));
    if (typeof seconds === "number") this.#seconds.textContent = duration(seconds);
  }

  /** The run ended without this call's result. */
  abandon() {
    if (this.element.dataset.state !== "running") return;
    this.#fold();
    this.#show("abandoned", icon("minus"));
    this.#outcome.textContent = "Did not finish.";
  }

  #fold() {
    clearTimeout(this.#opening);
    // Folding under someone who reads or tabs inside would throw them out.
    if (!this.#body.contains(document.activeElement)) this.element.open = false;
  }

  #show(state, picture) {
    this.element.dataset.state = state;
    this.#state.textContent = state;
    this.#mark.replaceChildren(picture);
  }

  #block(title, text) {
    this.#body.append(element("h4", {}, title), element("pre", { tabindex: "0", dir: "auto" }, text));
  }
}

const artifactName = (artifact) =>
  typeof artifact === "string" ? artifact : String(artifact.name ?? artifact.artifact_id ?? artifact.id);
