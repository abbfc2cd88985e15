/** `Accept`: whether a caller takes JSON, or asks for an event stream or a page. @see https://www.rfc-editor.org/rfc/rfc9110#name-accept @module */

type Range = { type: string; quality: number };

/** Whether an `Accept` header allows `application/json`; a missing one allows everything. */
export function acceptsJson(accept: string | null): boolean {
  if (accept === null || accept.trim() === "" || accept === "*/*" || accept === "application/json")
    return true;
  const ranges = readRanges(accept);
  // The most specific range decides: `application/json;q=0, */*` refuses JSON.
  const decisive = ["application/json", "application/*", "*/*"]
    .map((type) => ranges.find((range) => range.type === type))
    .find((range) => range !== undefined);
  return decisive !== undefined && decisive.quality > 0;
}

/** Whether an `Accept` header asks for server-sent events. */
export function acceptsEventStream(accept: string | null): boolean {
  if (accept === null || !/text\/event-stream/i.test(accept)) return false;
  return readRanges(accept).some(
    (range) => range.type === "text/event-stream" && range.quality > 0,
  );
}

/** Whether an `Accept` header names HTML, as that of a browser which opens an address does. */
export function acceptsHtml(accept: string | null): boolean {
  if (accept === null || !/text\/html/i.test(accept)) return false;
  return readRanges(accept).some((range) => range.type === "text/html" && range.quality > 0);
}

function readRanges(accept: string): Range[] {
  return accept.split(",").map(readRange);
}

function readRange(text: string): Range {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  return { type, quality: weight === undefined ? 1 : Number(weight.slice(2)) || 0 };
}
