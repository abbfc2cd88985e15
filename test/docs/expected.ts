/** Whether an output is the one that a page shows, whatever differs from run to run. Pure. @module */

/** Parts that differ from run to run: both sides must have one of the kind. */
const TOKENS: readonly RegExp[] = [
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/,
  /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?/,
  /\bsha256:[0-9a-f…]+/,
  /rh_[a-z0-9]{16}\.[0-9A-Za-z…]+/,
  /\b[a-z0-9]{4}-[a-z0-9]{4}-(?:[a-z0-9]{4}(?:-[a-z0-9]{4})*|…)/,
];
const TOKEN = new RegExp(TOKENS.map(({ source }) => source).join("|"), "g");

/** Lines of the log, which a terminal shows in another form. */
const LOG = /^\{"time":.*\n/gm;

/**
 * What is wrong with an output, or `undefined`. In what is shown, `…` stands for the rest of a line or a part of it, a
 * line of `…` alone for any lines. JSON may be laid out in any way.
 */
export function findDifference(shown: string, output: string): string | undefined {
  const wanted = toLines(layOut(shown));
  const found = toLines(layOut(output.replace(LOG, "")));
  if (isVisible(wanted, found)) return undefined;
  return `The page shows\n${wanted.join("\n")}\nbut it says\n${found.join("\n")}`;
}

function isVisible([line, ...rest]: readonly string[], found: readonly string[]): boolean {
  if (line === undefined) return found.length === 0;
  if (line.trim() === "…")
    return (
      isVisible(rest, found) || (found.length > 0 && isVisible([line, ...rest], found.slice(1)))
    );
  const [first] = found;
  return first !== undefined && toPattern(line).test(first) && isVisible(rest, found.slice(1));
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

/** JSON with a line for each value; any other text as it is. */
function layOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text; // several documents, or no JSON at all
  }
}
