/** Codes of errors from the system, the database driver and PostgreSQL. @module */

/**
 * The code of an error, such as `ENOENT` or an SQLSTATE; `undefined` if it has none.
 *
 * @example
 * ```ts
 * import { errorCode } from "./error_code.ts";
 * import { expect } from "bun:test";
 *
 * expect(errorCode(Object.assign(new Error("no such file"), { code: "ENOENT" }))).toBe("ENOENT");
 * expect(errorCode(new Error("anything"))).toBeUndefined();
 * ```
 */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" ? code : undefined;
}

const CONNECT_FAILURES = new Set([
  "CONNECT_TIMEOUT",
  "ConnectionRefused",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "FailedToOpenSocket",
]);

/**
 * Returns whether an error means that no connection was opened: nothing was sent, so nothing happened. Knows the codes of the
 * system, of Bun's `fetch` and of the database driver.
 *
 * @example
 * ```ts
 * import { isConnectFailure } from "./error_code.ts";
 * import { expect } from "bun:test";
 *
 * expect(isConnectFailure(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }))).toBe(true);
 * expect(isConnectFailure(Object.assign(new Error("cut"), { code: "ECONNRESET" }))).toBe(false);
 * ```
 */
export function isConnectFailure(error: unknown): boolean {
  return CONNECT_FAILURES.has(errorCode(error) ?? "");
}
