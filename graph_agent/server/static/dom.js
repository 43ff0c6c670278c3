/** Builds elements. Text given here is always text, never markup. */

/** Make an element; attributes named `on…` are listeners, and null or false ones are left out. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** A picture from icons.css, unseen by screen readers. */
export const icon = (name) => element("span", { class: `icon icon-${name}`, "aria-hidden": "true" });

/** A button that copies `text()` and says so for two seconds. */
export function copyButton(text, subject) {
  const words = element("span", {}, "Copy");
  const button = element("button", { type: "button", class: "quiet copy", "aria-label": `Copy ${subject}` },
    icon("copy"), words);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      words.textContent = "Copied";
    } catch {
      words.textContent = "The browser refused"; // No permission, or a page without HTTPS.
    }
    setTimeout(() => (words.textContent = "Copy"), 2000);
  });
  return button;
}
