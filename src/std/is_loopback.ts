/** Addresses of this machine. @module */

const LOOPBACK = /^(localhost|[a-z0-9-]+(\.[a-z0-9-]+)*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Returns whether a URL names one host, which is this machine. A name under `localhost` is.
 *
 * @example
 * ```ts
 * import { isLoopback } from "./is_loopback.ts";
 * import { expect } from "bun:test";
 *
 * expect(isLoopback("http://api.localhost:8787")).toBe(true);
 * expect(isLoopback("postgres://me:secret@127.0.0.1:5432/wiki")).toBe(true);
 * expect(isLoopback("https://localhost.example.org")).toBe(false);
 * expect(isLoopback("postgres://localhost,db.example.org/wiki")).toBe(false);
 * ```
 */
export function isLoopback(url: string): boolean {
  try {
    // A driver that decodes the URL first finds a list of hosts behind a comma.
    return LOOPBACK.test(new URL(url).hostname) && !decodeURIComponent(url).includes(",");
  } catch {
    return false;
  }
}
