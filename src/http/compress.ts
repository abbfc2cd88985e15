/** An answer compressed for who asked for it. @module */
import { encodeBody, readEncoding } from "./encoding.ts";
import { toBody } from "./respond.ts";

/**
 * Only for what holds no secret, such as a form's token, beside something that a stranger may choose: the size of both
 * together would tell one from the other. @see https://www.breachattack.com
 */
export async function compressAnswer(answer: Response, request: Request): Promise<Response> {
  const accepted = readEncoding(request.headers.get("accept-encoding"));
  const { body, encoding } = await encodeBody(await answer.bytes(), accepted);
  const headers = new Headers(answer.headers);
  headers.append("vary", "accept-encoding");
  if (encoding !== undefined) headers.set("content-encoding", encoding);
  return new Response(toBody(body), { status: answer.status, headers });
}
