/** Counts the statements of requests to a service. @module */
import type { PostgresProxy } from "./postgres_proxy.ts";

/**
 * Parts of the statements that a service runs without a request: every second, every minute, after its start, on each new
 * connection, and to record nonces behind a gateway. The isolation check is not listed: open the service with `UNGUARDED`.
 */
const BACKGROUND = [
  ...["select name, version", "rowhouse.add_minute", "rowhouse.sweep_", "rowhouse.row_jobs"],
  ...["rowhouse.use_nonces", "rowhouse.serve_previews", "idempotency_sizes", "select 1"],
];

/** Part of the statement that looks up keys of callers. A test that expects none also needs one that finds some. */
export const KEY_LOOKUP = "rowhouse.use_caller_keys";

/** Returns how many statements ran for requests so far. */
export function countRequested(proxy: PostgresProxy): number {
  const isRequested = (text: string) => !BACKGROUND.some((part) => text.includes(part));
  return proxy
    .texts()
    .filter(isRequested)
    .reduce((sum, text) => sum + proxy.count(text), 0);
}
