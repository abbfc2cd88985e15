/** Parses the query string into strictly decoded parameters. Other modules interpret them. @module */

import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";

/** Yields the parameters lazily, so that parsing stops at the first invalid parameter. @throws {Problem} invalid_query */
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
 * Rejects all query parameters, for endpoints without parameters. `why` is the end of the message.
 *
 * @throws {Problem} unsupported_query; invalid_query — not percent-encoded UTF-8
 */
export function rejectQuery(query: string, why = "this endpoint accepts no parameters"): void {
  if (query === "") return;
  for (const [name] of readParameters(query)) throw unsupportedParameter(name, why);
}

export function unsupportedParameter(name: string, why: string): Problem {
  return ofParameter(
    name,
    new Problem("unsupported_query", {
      message: `Cannot use the query parameter ${quote(name)}: ${why}`,
    }),
  );
}

/** The same problem, with the parameter that it is about, unless it has one. */
export function ofParameter(name: string, problem: Problem): Problem {
  problem.parameters ??= [name];
  return problem;
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
