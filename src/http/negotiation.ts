/**
 * Content negotiation: `Accept` for JSON, event streams and HTML, and compression. @see https://www.rfc-
 * editor.org/rfc/rfc9110#name-accept
 *
 * @module
 */

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
function readWeights(header: string): [name: string, weight: number][] {
  return header
    .toLowerCase()
    .split(",")
    .map((item) => {
      const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith("q="));
      return [name, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
    });
}

// Content negotiation and compression of response bodies. @see
// https://www.rfc-editor.org/rfc/rfc9110#name-accept-encoding

/** Supported encodings, best first. */
export const ENCODINGS = ["zstd", "gzip"] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** A body and its encoding; `undefined` if it is not compressed. */
export type EncodedBody = {
  readonly encoding: Encoding | undefined;
  readonly body: Uint8Array<ArrayBuffer>;
};

/** Smaller bodies fit into so few packets that compression gains nothing. */
const MIN_COMPRESSED_BYTES = 4096;
/** Larger bodies are compressed in another thread, so that other requests do not wait. */
const MAX_HERE_BYTES = 262_144;
/** The lowest level: 10% larger than at the default level, in a third of the time. */
const LEVEL = { level: 1 } as const;

/** The best of the offered encodings that an `Accept-Encoding` header accepts; `undefined` without one. */
export function readEncoding(header: string | null): Encoding | undefined;
export function readEncoding<Offered extends string>(
  header: string | null,
  offered: readonly Offered[],
): Offered | undefined;
export function readEncoding(
  header: string | null,
  offered: readonly string[] = ENCODINGS,
): string | undefined {
  if (header === null) return undefined;
  const weights = new Map(readWeights(header));
  const weightOf = (name: string) => weights.get(name) ?? weights.get("*") ?? 0;
  return offered
    .filter((name) => weightOf(name) > 0)
    .toSorted((a, b) => weightOf(b) - weightOf(a))[0];
}

/** The compressed body, unless it is too small to gain from compression. */
export async function encodeBody(
  body: Uint8Array<ArrayBuffer>,
  encoding: Encoding | undefined,
): Promise<EncodedBody> {
  if (encoding === undefined || body.length < MIN_COMPRESSED_BYTES)
    return { body, encoding: undefined };
  return { body: await compress(body, encoding), encoding };
}

async function compress(
  body: Uint8Array<ArrayBuffer>,
  encoding: Encoding,
): Promise<Uint8Array<ArrayBuffer>> {
  if (encoding === "gzip" && body.length <= MAX_HERE_BYTES) return Bun.gzipSync(body, LEVEL);
  if (encoding === "gzip")
    return await new Response(
      new Blob([body]).stream().pipeThrough(new CompressionStream("gzip")),
    ).bytes();
  return toBytes(
    body.length <= MAX_HERE_BYTES
      ? Bun.zstdCompressSync(body, LEVEL)
      : await Bun.zstdCompress(body, LEVEL),
  );
}

function toBytes({ buffer, byteOffset, byteLength }: Buffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}
