/** Compares an output with the output that a page displays, except for parts that differ from run to run. Pure. @module */

/** Parts that differ from run to run. Both outputs must have a part of the same kind. */
const TOKENS: readonly RegExp[] = [
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/,
  /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?/,
  /\bsha256:[0-9a-f…]+/,
  /rh_[a-z0-9]{16}\.[0-9A-Za-z…]+/,
  /\b[a-z0-9]{4}-[a-z0-9]{4}-(?:[a-z0-9]{4}(?:-[a-z0-9]{4})*|…)/,
];
const TOKEN = new RegExp(TOKENS.map(({ source }) => source).join("|"), "g");

/** Lines of the log, which a terminal displays in another format. */
const LOG = /^\{"time":.*\n/gm;
/** Where a command goes. A block shows the line where it matters to the reader, and then it must be true. */
const DESTINATION = /^Destinations?: .*\n/gm;

/**
 * Returns the difference of an output from the page's output, or `undefined`. On the page, `…` matches any part of a line,
 * and a line of only `…` matches any lines. JSON can have any layout.
 */
export function findDifference(page: string, output: string): string | undefined {
  const wanted = toLines(layOut(page));
  const shown = page.search(DESTINATION) === -1 ? output.replace(DESTINATION, "") : output;
  const found = toLines(layOut(shown.replace(LOG, "")));
  if (matchesLines(wanted, found)) return undefined;
  return `The page shows\n${wanted.join("\n")}\nbut the output is\n${found.join("\n")}`;
}

function matchesLines([line, ...rest]: readonly string[], found: readonly string[]): boolean {
  if (line === undefined) return found.length === 0;
  if (line.trim() === "…")
    return (
      matchesLines(rest, found) ||
      (found.length > 0 && matchesLines([line, ...rest], found.slice(1)))
    );
  const [first] = found;
  return first !== undefined && toPattern(line).test(first) && matchesLines(rest, found.slice(1));
}

function toPattern(line: string): RegExp {
  const parts = line.split(TOKEN);
  const tokens = line.match(TOKEN) ?? [];
  const pattern = parts.map((part, at) => {
    const token = TOKENS.find(({ source }) => new RegExp(`^(?:${source})$`).test(tokens[at] ?? ""));
    return escapePattern(part) + (token === undefined ? "" : `(?:${token.source})`);
  });
  return new RegExp(`^${pattern.join("")}$`);
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replaceAll("…", ".*?");
}

function toLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "");
}

/** Renders JSON with a line for each value, and returns other text unchanged. */
function layOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text; // several documents, or not JSON
  }
}
