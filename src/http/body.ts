/**
 * Request bodies: read once, size-limited, strict UTF-8, strict JSON or a form. Nothing beyond the limits is parsed, and a
 * rejected body is not held in memory.
 *
 * @module
 */
import { Problem } from "../problem.ts";
import { isObject } from "../std/json.ts";
import { jsonDepth, MAX_BODY_DEPTH } from "../std/json_depth.ts";
import { WALL_BYTES } from "../std/limits.ts";

/** Time limit for receiving a body of any size. */
const ARRIVAL_LIMIT_MS = 10_000;

const MAX_FORM_BYTES = 16_384;

/** Max size of an unread body that is drained to reuse the connection. */
const DRAINED_BYTES = 65_536;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * @throws {Problem} unsupported_media_type — not `application/json`, a charset other than UTF-8, or any content encoding
 */
export function checkJsonBody(request: Request): void {
  const encoding = request.headers.get("content-encoding");
  const type = request.headers.get("content-type");
  if (
    encoding === null &&
    type !== null &&
    /^application\/json\s*(;\s*(charset="?utf-8"?\s*)?)*$/i.test(type)
  )
    return;
  throw new Problem("unsupported_media_type", {
    message: "Send the body as application/json in UTF-8, without a content encoding",
  });
}

/**
 * The text of a body within the limit.
 *
 * @throws {Problem} body_too_large — announced or sent, also when chunked; invalid_json — not UTF-8, incomplete or too slow
 */
export async function readText(request: Request, limit: BodyLimit): Promise<string> {
  const bytes = await readBody(request, limit);
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw new Problem("invalid_json", { message: "The body is not UTF-8", cause: error });
  }
}

/** Max bytes of a body, or of a body for one row and of a list of rows, which can be higher. */
export type BodyLimit = number | { readonly one: number; readonly list: number };

/**
 * The bytes of a body within the limit. Of a body that is no list, never holds more than the limit of one row: its first
 * character shows which limit applies.
 *
 * @throws {Problem} body_too_large — announced or sent, also when chunked; invalid_json — incomplete or too slow
 */
export async function readBody(
  request: Request,
  limit: BodyLimit,
): Promise<Uint8Array<ArrayBuffer>> {
  const limits = typeof limit === "number" ? { one: limit, list: limit } : limit;
  const { one, list } = limits;
  const announced = request.headers.get("content-length");
  const length = Number(announced ?? 0);
  if (length > list)
    throw tooLarge(one === list ? `${one} bytes` : `${one} bytes, or ${list} bytes for a list`);
  return announced === null || length > one
    ? await readChunks(request, limits, length)
    : await readAnnounced(request);
}

/**
 * Checks before parsing that JSON text is nested at most `maxDepth` deep: a JSON bomb costs only a scan.
 *
 * @throws {Problem} invalid_json
 */
function checkDepth(text: string, maxDepth: number): void {
  if (jsonDepth(text) <= maxDepth) return;
  throw new Problem("invalid_json", { message: `The body is nested deeper than ${maxDepth}` });
}

/**
 * The JSON value of a text; `revive` as in `JSON.parse`.
 *
 * @throws {Problem} invalid_json — not JSON or nested too deep
 */
export function parseJson(
  text: string,
  revive?: (this: unknown, key: string, value: unknown, context: { source: string }) => unknown,
  maxDepth = MAX_BODY_DEPTH,
): unknown {
  checkDepth(text, maxDepth);
  try {
    return JSON.parse(text, revive as Parameters<typeof JSON.parse>[1]);
  } catch (error) {
    throw new Problem("invalid_json", { message: "The body is not JSON", cause: error });
  }
}

/**
 * @throws {Problem} invalid_json — the value is not a JSON object
 */
export function checkObject(value: unknown): Readonly<Record<string, unknown>> {
  if (isObject(value)) return value;
  throw new Problem("invalid_json", { message: "The body is not a JSON object" });
}

/** Max bytes of a body between processes: the Console writes back rows that have grown by several requests. */
export function toWallBytes(maxResponseBytes: number, maxBatchBytes: number): number {
  return Math.max(WALL_BYTES, maxResponseBytes + maxBatchBytes);
}

/** Reads a body of announced length as a whole, at a tenth of the cost of a stream. */
async function readAnnounced(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  let timer: Timer | undefined;
  const lateness = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(cutShort("The body did not arrive in time")), ARRIVAL_LIMIT_MS);
  });
  try {
    return new Uint8Array(await Promise.race([request.arrayBuffer(), lateness]));
  } catch (error) {
    throw error instanceof Problem ? error : cutShort("The body was cut short", error);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads a body of unknown length or with two limits in chunks, with a time limit against slow senders. */
async function readChunks(
  request: Request,
  limits: { readonly one: number; readonly list: number },
  announced: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), ARRIVAL_LIMIT_MS);
  const deadline = performance.now() + ARRIVAL_LIMIT_MS;
  const chunks: Uint8Array[] = [];
  let length = 0;
  let maxBytes: number | undefined;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (performance.now() >= deadline) throw cutShort("The body did not arrive in time");
      if (done) return Buffer.concat(chunks, length);
      length += value.length;
      const first = maxBytes ?? value.find((byte) => !JSON_SPACES.includes(byte));
      if (first !== undefined) maxBytes ??= first === LIST_START ? limits.list : limits.one;
      const max = maxBytes ?? limits.one;
      if (length > max || (maxBytes !== undefined && announced > max))
        throw tooLarge(`${max} bytes`);
      chunks.push(value);
    }
  } catch (error) {
    throw error instanceof Problem ? error : cutShort("The body was cut short", error);
  } finally {
    clearTimeout(timer);
  }
}

const JSON_SPACES: readonly number[] = [0x09, 0x0a, 0x0d, 0x20];
const LIST_START = "[".charCodeAt(0);

/**
 * The fields of a URL-encoded form.
 *
 * @throws {Problem} unsupported_media_type; body_too_large; invalid_request — a field is sent twice
 */
export async function readForm(
  request: Request,
  maxBytes = MAX_FORM_BYTES,
): Promise<ReadonlyMap<string, string>> {
  const type = request.headers.get("content-type") ?? "";
  const isForm = /^application\/x-www-form-urlencoded\s*(;\s*(charset="?utf-8"?\s*)?)*$/i.test(
    type,
  );
  if (!isForm || request.headers.has("content-encoding")) {
    throw new Problem("unsupported_media_type", {
      message: "Send the form as application/x-www-form-urlencoded, without a content encoding",
    });
  }
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(await readText(request, maxBytes))) {
    if (fields.has(name))
      throw new Problem("invalid_request", { message: "The form has a repeated field" });
    fields.set(name, value);
  }
  return fields;
}

/** Whether an unread body is still arriving, of unknown length or too large to wait for. */
export function hasUnreadBody(request: Request): boolean {
  if (request.bodyUsed) return false;
  const announced = request.headers.get("content-length");
  if (announced === null) return request.headers.has("transfer-encoding");
  return Number(announced) > DRAINED_BYTES;
}

function cutShort(message: string, cause?: unknown): Problem {
  return new Problem("invalid_json", { message, cause, headers: { connection: "close" } });
}

function tooLarge(max: string): Problem {
  // The rest of the body is never read, so the connection cannot be reused.
  return new Problem("body_too_large", {
    message: `The body is larger than ${max}`,
    headers: { connection: "close" },
  });
}
