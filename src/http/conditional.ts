/** Responses with an entity tag, 304 responses, and compression of other responses. @module */
import { type EncodedBody, encodeBody, readEncoding } from "./encoding.ts";
import { type NamedTags, tagHeader } from "./preconditions.ts";
import { respondEmpty, respondWithBytes, toBody } from "./respond.ts";

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

export function toEncodingHeader(encoding: EncodedBody["encoding"]): Record<string, string> {
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
