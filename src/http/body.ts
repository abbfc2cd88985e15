/**
 * Bodies: read once, bounded, strictly UTF-8, strictly JSON. Nothing is parsed that the limits refuse, and nothing
 * of a refused body stays in memory.
 *
 * @module
 */
import { Problem } from "../problem.ts";
import { jsonDepth } from "../std/json_depth.ts";

export const MAX_DEPTH = 64;

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
    /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type)
  )
    return;
  throw new Problem("unsupported_media_type", {
    message: "Send the body as application/json in UTF-8, without a content encoding",
  });
}

/**
 * The text of a body of at most `most` bytes.
 *
 * @throws {Problem} body_too_large — announced or sent, also when chunked; invalid_json — not UTF-8, or cut short
 */
export async function readText(request: Request, most: number): Promise<string> {
  const announced = request.headers.get("content-length");
  if (announced !== null && Number(announced) > most) throw tooLarge(most);
  const bytes =
    announced === null ? await readChunks(request, most) : await readWhole(request, most);
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw new Problem("invalid_json", { message: "The body is not UTF-8", cause: error });
  }
}

/**
 * Checks that JSON text nests no deeper than {@linkcode MAX_DEPTH}: before parsing, so that a bomb costs one scan.
 *
 * @throws {Problem} invalid_json
 */
export function checkDepth(text: string): void {
  if (jsonDepth(text) <= MAX_DEPTH) return;
  throw new Problem("invalid_json", { message: `The body nests deeper than ${MAX_DEPTH}` });
}

/**
 * The JSON value of a text; `revive` as in `JSON.parse`.
 *
 * @throws {Problem} invalid_json — not JSON or nested too deep
 */
export function parseJson(
  text: string,
  revive?: (this: unknown, key: string, value: unknown, context: { source: string }) => unknown,
): unknown {
  checkDepth(text);
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function readWhole(request: Request, most: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > most) throw tooLarge(most);
  return bytes;
}

async function readChunks(request: Request, most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (request.body === null) return new Uint8Array();
  for await (const chunk of request.body) {
    length += chunk.length;
    if (length > most) throw tooLarge(most);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

function tooLarge(most: number): Problem {
  // The rest of the body is never read: the connection cannot be used again.
  return new Problem("body_too_large", {
    message: `The body is larger than ${most} bytes`,
    headers: { connection: "close" },
  });
}
