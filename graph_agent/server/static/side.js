/** The side: the list of threads, where the server keeps one, and its drawer on narrow screens. */

import { listThreads } from "./api.js";
import { element } from "./dom.js";
import { ago } from "./format.js";

const byId = (id) => document.getElementById(id);

export class Side {
  #side = byId("side");
  #opener = byId("side-open");
  #list = byId("threads");
  #shade = byId("shade");

  constructor({ onnew }) {
    for (const id of ["new-thread", "new-thread-bar"]) byId(id).addEventListener("click", onnew);
    this.#opener.addEventListener("click", () => this.#open(true));
    byId("side-close").addEventListener("click", () => this.#open(false));
    matchMedia("(width > 48rem)").addEventListener("change", () => this.close());
    this.#shade.addEventListener("click", () => this.#open(false));
    this.#list.addEventListener("click", (event) => event.target.closest("a") && this.#open(false));
  }

  /** Close the drawer; false if it was not open. */
  close() {
    const wasOpen = this.#side.classList.contains("open");
    if (wasOpen) this.#open(false);
    return wasOpen;
  }

  /** Fetch the list anew, and mark the thread that is open. */
  async refresh(currentId) {
    const threads = (await listThreads()) ?? [];
    this.#list.replaceChildren(...threads.map(threadItem));
    this.mark(currentId);
  }

  /** Mark the thread that is open. */
  mark(currentId) {
    for (const link of this.#list.querySelectorAll("a")) {
      if (link.dataset.id === currentId) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  #open(yes) {
    this.#side.classList.toggle("open", yes);
    this.#shade.hidden = !yes;
    document.querySelector(".stage").inert = yes; // The keyboard stays in the drawer.
    this.#opener.setAttribute("aria-expanded", String(yes));
    (yes ? byId("side-close") : this.#opener).focus();
  }
}

function threadItem({ thread_id: id, title, name, updated_at: updated, created_at: created }) {
  const link = element("a", { href: `#thread=${encodeURIComponent(id)}` },
    element("span", { class: "thread-title", dir: "auto" }, title || name || "Untitled"),
    element("span", { class: "thread-time" }, ago(updated ?? created)));
  link.dataset.id = id;
  return element("li", {}, link);
}
