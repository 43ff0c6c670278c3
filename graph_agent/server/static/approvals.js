/** Draws the tool calls of one pause that wait for a person, and collects what is decided about them. */

import { element, icon } from "./dom.js";
import { pretty } from "./format.js";

const STATES = {
  waiting: ["pause", "Waiting for approval: "],
  allowed: ["check", "Allowed: "],
  denied: ["cross", "Denied: "],
  given_up: ["minus", "Given up: "],
};
const GIVEN_UP = "Another question was asked instead.";

export class Approvals {
  #cards = [];
  #whole = false; // Whether the pause is complete: until then more calls may come.
  #state = "open"; // Then "sent" or "given_up".
  #ondecided;

  /** `ondecided` hears what was decided, by the id of each call, and how to open the cards again. */
  constructor(ondecided) {
    this.#ondecided = ondecided;
  }

  get open() {
    return this.#state === "open";
  }

  /** Draw a further call; gives its element. */
  add(data) {
    const card = new Card(data, () => this.#decided(card));
    this.#cards.push(card);
    return card.element;
  }

  /** The pause is complete: as soon as all is decided, it is sent. */
  complete() {
    this.#whole = true;
    this.#sendIfDecided();
  }

  /** Say that nobody waits any more; gives what takes that back. */
  giveUp() {
    if (!this.open) return () => {};
    this.#state = "given_up";
    this.#cards.forEach((card) => card.giveUp());
    return () => this.#reopen();
  }

  #decided(card) {
    const next = this.#cards.find((each) => !each.decision);
    (next ?? card).focus();
    this.#sendIfDecided();
  }

  #sendIfDecided() {
    if (!this.open || !this.#whole || !this.#cards.every((card) => card.decision)) return;
    this.#state = "sent";
    this.#cards.forEach((card) => card.fold());
    this.#ondecided(this.#decisions(), () => this.#reopen());
  }

  /** A tool that asks by itself takes one answer, and no ids. */
  #decisions() {
    const byItself = this.#cards.find((card) => card.asksByItself);
    return byItself ? byItself.decision : Object.fromEntries(this.#cards.map((card) => [card.id, card.decision]));
  }

  #reopen() {
    this.#state = "open";
    this.#cards.forEach((card) => card.reopen());
  }
}

class Card {
  #name;
  #mark = element("span", { class: "approval-mark" });
  #words = element("span", { role: "alert" });
  #title;
  #data;
  #note = element("p", { class: "approval-note", dir: "auto" });
  #choices;
  #reason;
  #why;
  #change;
  #ondecided;
  decision = null;

  constructor({ interrupt_id: id, call_id: callId, tool_name: name, tool_args: args, value }, ondecided) {
    this.id = id;
    this.asksByItself = callId === undefined;
    this.#name = name ?? "a tool that asks";
    this.#ondecided = ondecided;
    this.#title = element("h3", { tabindex: "-1" }, this.#mark, this.#words);
    this.#data = element("pre", { tabindex: "0", dir: "auto" }, pretty(this.asksByItself ? value : args));
    this.#drawChoices();
    this.element = element("section", { class: "approval", "aria-label": `Approval of ${this.#name}` },
      this.#title, this.#data, this.#note, this.#choices, this.#why, this.#change);
    this.reopen();
  }

  /** Bring the keyboard here: to the choices, or to what was chosen. */
  focus() {
    (this.decision ? this.#title : this.#choices.firstChild).focus();
  }

  /** The decision is on its way; the call is drawn as the run's from now on. */
  fold() {
    this.#change.hidden = true;
    this.#data.hidden = true;
  }

  giveUp() {
    this.#show("given_up", GIVEN_UP);
    this.#change.hidden = true;
  }

  /** Ask for a decision, for the first time or again. */
  reopen() {
    this.decision = null;
    this.#data.hidden = false;
    this.#show("waiting");
    this.#choices.hidden = false;
  }

  #drawChoices() {
    const of = (words) => `${words}: ${this.#name}`;
    this.#choices = element("div", { class: "choices" },
      button("Allow", of("Allow"), "primary", () => this.#decide("allow")),
      button("Deny", of("Deny"), "outlined", () => this.#decide("deny")),
      button("Deny with a reason", of("Deny with a reason"), "outlined", () => this.#askWhy()));
    this.#reason = element("input", { type: "text", maxlength: "500", placeholder: "Why not?", "aria-label": of("Reason") });
    this.#why = element("form", { class: "choices", onsubmit: (event) => this.#denyWith(event), hidden: true }, this.#reason,
      element("button", { type: "submit", class: "outlined" }, "Deny"),
      button("Back", of("Back"), "link", () => this.#back()));
    this.#change = button("Change", of("Change the decision"), "link", () => {
      this.reopen();
      this.focus();
    });
  }

  #askWhy() {
    this.#choices.hidden = true;
    this.#why.hidden = false;
    this.#reason.focus();
  }

  #back() {
    this.#why.hidden = true;
    this.#choices.hidden = false;
    this.#choices.lastChild.focus();
  }

  #denyWith(event) {
    event.preventDefault();
    const reason = this.#reason.value.trim();
    this.#decide(reason ? { deny: reason } : "deny");
  }

  #decide(decision) {
    this.decision = decision;
    this.#show(decision === "allow" ? "allowed" : "denied", decision.deny);
    this.#change.hidden = false;
    this.#ondecided();
  }

  #show(state, note = "") {
    this.element.dataset.state = state;
    const [picture, words] = STATES[state];
    this.#mark.replaceChildren(icon(picture));
    this.#words.replaceChildren(words, element("code", {}, this.#name));
    this.#note.textContent = note;
    this.#note.hidden = !note;
    for (const part of [this.#choices, this.#why, this.#change]) part.hidden = true;
  }
}

const button = (words, label, kind, onclick) =>
  element("button", { type: "button", class: kind, "aria-label": label, onclick }, words);
