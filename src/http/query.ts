/** The query string: its parameters one by one, strictly decoded. The rooms decide what they mean. @module */
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";

/** The parameters one by one, so that the first bad one of many thousands ends the reading. @throws {Problem} invalid_query */
export function* readParameters(query: string): Generator<[name: string, value: string]> {
  for (const part of query.split("&")) {
    if (part === "") continue;
    const mark = part.indexOf("=");
    yield mark === -1
      ? [decode(part), ""]
      : [decode(part.slice(0, mark)), decode(part.slice(mark + 1))];
  }
}

/**
 * Refuses any query parameter, for endpoints that take none; `why` ends the sentence.
 *
 * @throws {Problem} unsupported_query; invalid_query — not percent-encoded UTF-8
 */
export function refuseQuery(query: string, why = "this endpoint takes none"): void {
  if (query === "") return;
  for (const [name] of readParameters(query)) throw unsupportedParameter(name, why);
}

/** The refusal of a parameter that an endpoint does not take. */
export function unsupportedParameter(name: string, why: string): Problem {
  return new Problem("unsupported_query", {
    message: `Cannot use the query parameter ${quote(name)}: ${why}`,
  });
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
