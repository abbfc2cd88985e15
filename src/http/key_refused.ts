/** The same answer to every invalid key, whether the gateway or the database refuses it. @module */
import { Problem } from "../problem.ts";

/** A 401 with its `WWW-Authenticate`. */
export function keyRefused(cause?: unknown): Problem {
  return new Problem("unauthenticated", {
    message: "Send a valid API key as Authorization: Bearer <API_KEY>",
    headers: { "www-authenticate": "Bearer" },
    cause,
  });
}
