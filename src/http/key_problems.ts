/** The responses to a key that is invalid, whether the gateway or the database rejects it, or lacks a scope. @module */
import type { Scope } from "../principal.ts";
import { Problem } from "../problem.ts";

/** A 401 with its `WWW-Authenticate`. */
export function keyRejected(cause?: unknown): Problem {
  return new Problem("unauthenticated", {
    message: "Send a valid API key as Authorization: Bearer <API_KEY>",
    headers: { "www-authenticate": "Bearer" },
    cause,
  });
}

/** A 403 that names the scope that the key lacks. */
export function scopeMissing(scope: Scope): Problem {
  const name = scope === "schema:read" ? `${scope}, which schema:push includes` : scope;
  return new Problem("forbidden", {
    message: `This key lacks the scope ${name}: use a key that has it, because the scopes of a key cannot be changed`,
  });
}
