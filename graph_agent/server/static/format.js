/** Says numbers, times and tool data in words. */

const COUNT = new Intl.NumberFormat("en");

export const count = (number, noun) => `${COUNT.format(number)} ${noun}${number === 1 ? "" : "s"}`;

export const number = (value) => COUNT.format(value);

/** A duration: two digits that matter below a minute, whole seconds above. */
export function duration(seconds) {
  if (seconds < 0.005) return "< 0.01 s";
  if (seconds < 1) return `${seconds.toFixed(2)} s`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** How long ago a moment was, or nothing where the text is no date. */
export function ago(text, now = Date.now()) {
  const minutes = Math.floor((now - Date.parse(text)) / 60_000);
  if (Number.isNaN(minutes)) return "";
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return new Date(text).toLocaleDateString("en", { month: "short", day: "numeric" });
}

/** Tool arguments in one line: a lone value by itself, several as `name: value`. */
export function argumentLine(args) {
  const pairs = Object.entries(args ?? {});
  const line = pairs.length === 1
    ? plain(pairs[0][1])
    : pairs.map(([name, value]) => `${name}: ${plain(value)}`).join("  ·  ");
  return line.replace(/\s+/g, " ").slice(0, 200);
}

const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** Data with indentation. Text that holds JSON is indented too; other text stays as it is. */
export function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 2) ?? "";
  if (value.length > 100_000 || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value; // It only looked like JSON.
  }
}

/** The first line that says something. */
export const firstLine = (text) => (text.match(/\S.*/)?.[0] ?? "").slice(0, 200);
