/** The whole body of a request, for signing it or verifying its signature. @module */
import { type BodyLimit, readBody } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { writes } from "./verify.ts";

const EMPTY = new Uint8Array();

/** The body, possibly empty; or a problem: too large, incomplete or too slow. */
export async function readBoundedBody(
  request: Request,
  limit: BodyLimit,
): Promise<Uint8Array<ArrayBuffer> | Problem> {
  if (!writes(request.method) || request.body === null) return EMPTY;
  try {
    return await readBody(request, limit);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}
