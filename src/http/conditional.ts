/** Encoded answers: with a tag, with that tag alone for a caller who has the state already, or without one. @module */
import { type EncodedBody, encodeBody, readEncoding } from "./encoding.ts";
import { type NamedTags, tagHeader } from "./preconditions.ts";
import { answerBytes, answerEmpty, toBody } from "./respond.ts";

/** A body, and the tag of its state: each encoding of it has a tag of its own. */
export type TaggedBody = EncodedBody & { readonly tag: string };

type Headers = Readonly<Record<string, string>>;

/** The state, in its encoding. */
export function answerTagged({ tag, body, encoding }: TaggedBody, headers: Headers): Response {
  const etag = encoding === undefined ? `"${tag}"` : `"${tag}-${encoding}"`;
  return answerBytes(body, { headers: { ...headers, ...toEncodingHeader(encoding), etag } });
}

/** The answer to a caller who has named the tag. */
export function answerNotModified(
  tag: string,
  known: NamedTags | undefined,
  headers: Headers,
): Response {
  return answerEmpty({ status: 304, headers: { ...headers, etag: tagHeader(tag, known) } });
}

export function toEncodingHeader(encoding: EncodedBody["encoding"]): Record<string, string> {
  return encoding === undefined ? {} : { "content-encoding": encoding };
}

/**
 * An answer compressed for its caller. Only for what holds no secret, such as a form's token, next to something that a stranger
 * may choose: the size of both together would tell one from the other. @see https://www.breachattack.com
 */
export async function compressAnswer(answer: Response, request: Request): Promise<Response> {
  const accepted = readEncoding(request.headers.get("accept-encoding"));
  const { body, encoding } = await encodeBody(await answer.bytes(), accepted);
  const headers = new Headers(answer.headers);
  headers.append("vary", "accept-encoding");
  if (encoding !== undefined) headers.set("content-encoding", encoding);
  return new Response(toBody(body), { status: answer.status, headers });
}
