/**
 * Content negotiation and compression of response bodies.
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-accept-encoding
 *
 * @module
 */
import { readWeights } from "./accept.ts";

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

/** The best encoding that an `Accept-Encoding` header accepts; `undefined` without one. */
export function readEncoding(header: string | null): Encoding | undefined {
  if (header === null) return undefined;
  const weights = new Map(readWeights(header));
  const weightOf = (name: string) => weights.get(name) ?? weights.get("*") ?? 0;
  return ENCODINGS.filter((name) => weightOf(name) > 0).toSorted(
    (a, b) => weightOf(b) - weightOf(a),
  )[0];
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
