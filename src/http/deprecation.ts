/**
 * The `Deprecation` and `Sunset` headers of responses to callers that use deprecated parts of the
 * API. @see https://www.rfc-editor.org/rfc/rfc9745 @see https://www.rfc-editor.org/rfc/rfc8594
 *
 * @module
 */
import type { Operation, OperationParameter } from "./operation.ts";

/** Link to the deprecation policy. */
const RULE = '</docs/operating.md>; rel="deprecation"; type="text/markdown"';

/** The headers of a response; empty if the request uses nothing deprecated. */
export function deprecationHeaders(
  operation: Operation | undefined,
  sent: { headers: Headers; query: string },
): Record<string, string> {
  const { parameters = [] } = operation ?? {};
  const used = parameters.filter(
    (parameter) => parameter.deprecated !== undefined && isSent(parameter, sent),
  );
  const found = [operation, ...used].flatMap((part) => part?.deprecated ?? []);
  const [since] = found.map((deprecation) => deprecation.since).sort();
  if (since === undefined) return {};
  const [until] = found.flatMap((deprecation) => deprecation.until ?? []).sort();
  return {
    deprecation: `@${Date.parse(since) / 1000}`,
    ...(until === undefined ? {} : { sunset: new Date(until).toUTCString() }),
    link: RULE,
  };
}

/** A parameter in the path is always sent. */
function isSent(
  parameter: OperationParameter,
  { headers, query }: { headers: Headers; query: string },
): boolean {
  if (parameter.in === "query") return new URLSearchParams(query).has(parameter.name);
  return parameter.in === "path" || headers.has(parameter.name);
}
