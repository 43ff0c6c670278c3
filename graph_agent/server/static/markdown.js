/** Draws untrusted Markdown: parsed by marked, cleaned by DOMPurify, changed block by block. */

import { Marked } from "./vendor/marked.esm.js";
import DOMPurify from "./vendor/purify.es.js";
import { copyButton, element } from "./dom.js";

const marked = new Marked({ gfm: true });

// Only what Markdown can say. No id, name or style, so that text can't imitate or reach into the page.
const RULES = {
  ALLOWED_TAGS: `a b blockquote br code dd del details dl dt em h1 h2 h3 h4 h5 h6 hr i input kbd li mark ol p pre s
    span strong sub summary sup table tbody td tfoot th thead tr ul`.split(/\s+/),
  ALLOWED_ATTR: ["align", "checked", "class", "colspan", "disabled", "href", "rowspan", "start", "title", "type"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ADD_URI_SAFE_ATTR: ["align", "checked", "colspan", "disabled", "rowspan", "start", "type"], // They hold no address.
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

/** A growing Markdown text in a container. Blocks that did not change keep their elements. */
export class MarkdownView {
  #container;
  #blocks = [];

  constructor(container) {
    this.#container = container;
  }

  /** Draw a text that may still grow: only from the first changed block on. */
  grow(text) {
    const tokens = marked.lexer(text);
    let same = 0;
    while (same < this.#blocks.length && this.#blocks[same].raw === tokens[same]?.raw) same += 1;
    for (const { nodes } of this.#blocks.splice(same)) nodes.forEach((node) => node.remove());
    for (const token of tokens.slice(same)) {
      const nodes = [...safe(marked.parser([token])).childNodes];
      this.#container.append(...nodes);
      this.#blocks.push({ raw: token.raw, nodes });
    }
  }

  /** Draw the whole text at once: HTML and references that span blocks come out right. */
  finish(text) {
    this.#blocks = [];
    this.#container.replaceChildren(safe(marked.parse(text)));
  }
}

/** Clean HTML into elements that can neither run script nor load anything. */
function safe(html) {
  // A document made by DOMParser is inert: it runs no script and fetches no image.
  const { body } = new DOMParser().parseFromString(html, "text/html");
  body.querySelectorAll("img").forEach((image) => image.replaceWith(imageInWords(image)));
  const fragment = DOMPurify.sanitize(body.innerHTML, RULES);
  fragment.querySelectorAll("[class]").forEach(keepLanguageOnly);
  fragment.querySelectorAll("a[href]").forEach(openElsewhere);
  fragment.querySelectorAll("input").forEach(keepCheckboxOnly);
  fragment.querySelectorAll("table").forEach(scrollSideways);
  fragment.querySelectorAll("pre").forEach(offerCopy);
  return fragment;
}

function imageInWords(image) {
  const address = image.getAttribute("src") ?? "";
  const words = image.getAttribute("alt") || address;
  if (image.closest("a") || !/^https?:/i.test(address)) return document.createTextNode(words);
  return element("a", { href: address }, words);
}

function keepLanguageOnly(node) {
  if (node.tagName !== "CODE" || !/^language-[\w+#.-]+$/.test(node.className)) node.removeAttribute("class");
}

function openElsewhere(link) {
  link.target = "_blank";
  link.rel = "noopener noreferrer";
}

function keepCheckboxOnly(input) {
  if (input.type === "checkbox") input.disabled = true;
  else input.remove();
}

function scrollSideways(table) {
  const frame = element("div", { class: "table", role: "region", tabindex: "0", "aria-label": "Table" });
  table.replaceWith(frame);
  frame.append(table);
}

function offerCopy(block) {
  const language = block.querySelector("code")?.className.replace("language-", "") ?? "";
  const frame = element("div", { class: "code" });
  block.replaceWith(frame);
  const head = element("div", { class: "code-head" }, element("span", {}, language || "text"),
    copyButton(() => block.textContent, "this code"));
  block.tabIndex = 0; // Wide code scrolls; the keyboard must reach it.
  frame.append(head, block);
}
