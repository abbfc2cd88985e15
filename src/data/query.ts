/** Query parameters of the data endpoints: `limit` and `offset` on a list, nothing else anywhere. Pure. @module */
import { Problem } from "../problem.ts";

/** Rows per request at the most, the service's documented limit. */
export const MAX_ROWS = 1000;
const MAX_OFFSET = 2_147_483_647;
/** Names are shown back in messages, cut to this length. */
const MAX_SHOWN = 60;

export type Page = { limit: number; offset: number };

const WHOLE: Page = { limit: MAX_ROWS, offset: 0 };

/**
 * The page that a list asks for. A larger limit is bounded, not refused: the answer says what was used.
 *
 * @throws {Problem} unsupported_query — another parameter; invalid_query — not a whole number, or given twice
 */
export function readPage(query: string): Page {
  if (query === "") return WHOLE;
  const found = new Map<string, string>();
  for (const [name, value] of readParameters(query)) {
    if (name !== "limit" && name !== "offset") throw unsupported(name);
    if (found.has(name))
      throw new Problem("invalid_query", { message: `Cannot read ${name}: it is given twice` });
    found.set(name, value);
  }
  return {
    limit: Math.min(
      readWhole("limit", found.get("limit"), Number.MAX_SAFE_INTEGER) ?? MAX_ROWS,
      MAX_ROWS,
    ),
    offset: readWhole("offset", found.get("offset"), MAX_OFFSET) ?? 0,
  };
}

/**
 * Refuses any query parameter, for endpoints that take none.
 *
 * @throws {Problem} unsupported_query
 */
export function refuseQuery(query: string): void {
  if (query === "") return;
  for (const [name] of readParameters(query)) throw unsupported(name);
}

/** The parameters one by one, so that the first bad one of many thousand ends the reading. */
function* readParameters(query: string): Generator<[string, string]> {
  for (const part of query.split("&")) {
    if (part === "") continue;
    const mark = part.indexOf("=");
    yield mark === -1
      ? [decode(part), ""]
      : [decode(part.slice(0, mark)), decode(part.slice(mark + 1))];
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch (error) {
    throw new Problem("invalid_query", {
      message: "Cannot read the query: it is not percent-encoded UTF-8",
      cause: error,
    });
  }
}

function readWhole(name: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw notWhole(name, text, "a whole number of digits only");
  const value = Number(text);
  // A limit has no upper bound of its own: any larger one means the most there is.
  if (value > most && name !== "limit") throw notWhole(name, text, `at most ${most}`);
  return value;
}

function notWhole(name: string, text: string, wanted: string): Problem {
  return new Problem("invalid_query", {
    message: `Cannot read ${name} ${show(text)}: must be ${wanted}`,
  });
}

function unsupported(name: string): Problem {
  return new Problem("unsupported_query", {
    message: `Cannot use the query parameter ${show(name)}: filters, sorting and joins are not served, only limit and offset on a list`,
  });
}

function show(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}
