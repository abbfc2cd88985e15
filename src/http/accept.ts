/** Parses `Accept` for JSON, event streams and HTML. @see https://www.rfc-editor.org/rfc/rfc9110#name-accept @module */

/** Whether an `Accept` header allows `application/json`; a missing header allows everything. */
export function acceptsJson(accept: string | null): boolean {
  if (accept === null || accept.trim() === "" || accept === "*/*" || accept === "application/json")
    return true;
  const ranges = readWeights(accept);
  // The most specific range decides: `application/json;q=0, */*` excludes JSON.
  const decisive = ["application/json", "application/*", "*/*"]
    .map((type) => ranges.find(([name]) => name === type))
    .find((range) => range !== undefined);
  return decisive !== undefined && decisive[1] > 0;
}

/** Whether an `Accept` header asks for server-sent events. */
export function acceptsEventStream(accept: string | null): boolean {
  return isNamedType(accept, "text/event-stream");
}

/** Whether an `Accept` header names HTML, as browsers do on navigation. */
export function acceptsHtml(accept: string | null): boolean {
  return isNamedType(accept, "text/html");
}

function isNamedType(accept: string | null, type: string): boolean {
  // Most requests name neither type: this check is cheaper than parsing the list.
  if (!accept?.toLowerCase().includes(type)) return false;
  return readWeights(accept).some(([name, weight]) => name === type && weight > 0);
}

/** The lowercase names in a header, in order, with their weights: 1 without a weight, 0 if malformed. */
export function readWeights(header: string): [name: string, weight: number][] {
  return header
    .toLowerCase()
    .split(",")
    .map((item) => {
      const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith("q="));
      return [name, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
    });
}
