/** Responses with an entity tag, 304 responses, and compression of other responses. @module */

import { Problem } from "../problem.ts";
import { ENCODINGS, type EncodedBody, encodeBody, readEncoding } from "./negotiation.ts";
import { respondEmpty, respondWithBytes, toBody } from "./respond.ts";

// Entity tags and conditional headers. @see https://www.rfc-editor.org/rfc/rfc9110#section-13

/** A tag from a request header: `text` is without quotes and encoding suffix. */
type Named = { readonly text: string; readonly header: string };

/** The tags in a header; `*` matches any state. */
export type NamedTags = "*" | readonly Named[];

type Tag = Named & { readonly isWeak: boolean };

const TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;
/** The suffix of a compressed response's tag, also of proxies that compress. All variants of a tag identify the same state. */
const ENCODING_SUFFIX = new RegExp(`(?:--?|;)(?:${[...ENCODINGS, "br", "deflate"].join("|")})$`);

/**
 * The tags in `If-Match`; `undefined` without the header. Weak tags never match, because they do not distinguish states.
 *
 * @throws {Problem} invalid_precondition
 */
export function readIfMatch({ headers }: Request): NamedTags | undefined {
  return readMatch(headers.get("if-match"));
}

/** The same from a text. @throws {Problem} invalid_precondition */
export function readMatch(text: string | null): NamedTags | undefined {
  const tags = readTags("If-Match", text);
  return typeof tags === "object" ? tags.filter(({ isWeak }) => !isWeak) : tags;
}

/**
 * The tags in `If-None-Match`; `undefined` without the header.
 *
 * @throws {Problem} invalid_precondition
 */
export function readIfNoneMatch({ headers }: Request): NamedTags | undefined {
  return readTags("If-None-Match", headers.get("if-none-match"));
}

/** Whether the tags match `tag`. */
export function isNamed(tags: NamedTags | undefined, tag: string): boolean {
  return tags !== undefined && (tags === "*" || tags.some(({ text }) => text === tag));
}

/** The tags that the service can have created, comma-separated; `undefined` if any state matches. */
export function listTags(tags: NamedTags | undefined): string | undefined {
  if (typeof tags !== "object") return undefined;
  return tags.flatMap(({ text }) => (text.includes(",") ? [] : [text])).join(",");
}

/** A tag as a header value; if the caller sent the tag, in the caller's variant. */
export function tagHeader(tag: string, known?: NamedTags): string {
  const found = typeof known === "object" ? known.find(({ text }) => text === tag) : undefined;
  return found?.header ?? `"${tag}"`;
}

function readTags(name: string, header: string | null): "*" | readonly Tag[] | undefined {
  if (header === null || header === "*") return header ?? undefined;
  const items = splitList(header).filter((item) => item !== "");
  const tags = items.map(readTag);
  if (items.length > 0 && tags.every((tag) => tag !== undefined)) return tags;
  throw new Problem("invalid_precondition", {
    message: `Cannot read ${name}: must be "*" or a comma-separated list of quoted ETags`,
  });
}

/** Splits at commas outside quotes, because tags can contain commas. */
function splitList(header: string): string[] {
  const items = [""];
  let isQuoted = false;
  for (const character of header) {
    if (character === '"') isQuoted = !isQuoted;
    if (character === "," && !isQuoted) items.push("");
    else items[items.length - 1] += character;
  }
  return items.map((item) => item.trim());
}

function readTag(text: string): Tag | undefined {
  const found = TAG.exec(text);
  if (found === null) return undefined;
  const [, weak, named = ""] = found;
  return {
    text: named.replace(ENCODING_SUFFIX, ""),
    header: `"${named}"`,
    isWeak: weak !== undefined,
  };
}

/** A body and the tag of its state. Each encoding has its own tag. */
export type TaggedBody = EncodedBody & { readonly tag: string };

type Headers = Readonly<Record<string, string>>;

export function respondTagged(
  { tag, body, encoding }: TaggedBody,
  headers: Headers = {},
): Response {
  const etag = encoding === undefined ? `"${tag}"` : `"${tag}-${encoding}"`;
  return respondWithBytes(body, { headers: { ...headers, ...toEncodingHeader(encoding), etag } });
}

/** The 304 response to a caller that sent the current tag. */
export function respondNotModified(
  tag: string,
  known: NamedTags | undefined,
  headers: Headers = {},
): Response {
  return respondEmpty({ status: 304, headers: { ...headers, etag: tagHeader(tag, known) } });
}

export function toEncodingHeader(encoding: string | undefined): Record<string, string> {
  return encoding === undefined ? {} : { "content-encoding": encoding };
}

/**
 * A compressed response. Never use it for a body with both a secret, such as a form token, and text that an attacker can
 * choose: the compressed size would reveal the secret. @see https://www.breachattack.com
 */
export async function compressResponse(response: Response, request: Request): Promise<Response> {
  const accepted = readEncoding(request.headers.get("accept-encoding"));
  const { body, encoding } = await encodeBody(await response.bytes(), accepted);
  const headers = new Headers(response.headers);
  headers.append("vary", "accept-encoding");
  if (encoding !== undefined) headers.set("content-encoding", encoding);
  return new Response(toBody(body), { status: response.status, headers });
}
