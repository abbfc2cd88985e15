/** How many statements the requests to a service cause. @module */
import type { PostgresProxy } from "./postgres_proxy.ts";

/**
 * Parts of the statements that a service runs without a request: every second, every minute, soon after its start, on each
 * new connection; and of a service behind a gateway, to record nonces. The look at the isolation is not one of them: open the
 * service `UNGUARDED`.
 */
const BACKGROUND = [
  "select name, version",
  "rowhouse.add_statistics",
  "rowhouse.sweep_",
  "rowhouse.row_jobs",
  "rowhouse.use_nonces",
  "idempotency_sizes",
  "select 1",
];

/** Returns how many statements were run so far for requests. */
export function countRequested(proxy: PostgresProxy): number {
  const isRequested = (text: string) => !BACKGROUND.some((part) => text.includes(part));
  return proxy
    .texts()
    .filter(isRequested)
    .reduce((sum, text) => sum + proxy.count(text), 0);
}
