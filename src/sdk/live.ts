/**
 * A live list from the app's server to a browser: `relayRows` sends the rows of a watch, then only what changes in them, and
 * `followRows` receives them. Without dependencies. The browser needs no API key.
 *
 * @module
 */

import { followStream } from "./event_stream.ts";
import { applyPatch, type RowPage, toPatches } from "./patches.ts";
import { relay } from "./relay.ts";

export type { RowPage } from "./patches.ts";

/**
 * A response for `followRows`: the first page of a watch, then for each change of the page only the changed rows. Before the
 * call, check that the browser's user can read the rows. A slow browser gets later changes together. It ends with `signal`,
 * with the watch, or when the browser disconnects.
 *
 * @example
 * ```ts
 * import { relayRows } from "rowhouse/live";
 *
 * const response = relayRows(async function* () {
 *   yield { rows: [{ id: "1", title: "Milk" }, { id: "2", title: "Bread" }] };
 *   yield { rows: [{ id: "1", title: "Milk" }, { id: "2", title: "Butter" }] };
 * });
 * expect(await response.text()).toEndWith('data: {"put":[{"at":1,"row":{"id":"2","title":"Butter"}}],"removed":[],"page":{}}\n\n');
 * ```
 */
export function relayRows(
  watch: (signal: AbortSignal) => AsyncIterable<RowPage<{ readonly id: string }>>,
  options?: { readonly signal?: AbortSignal | undefined },
): Response {
  return relay((signal) => toPatches(watch(signal)), options);
}

/** What `followRows` reports, and when it ends. */
export type FollowOptions<Page> = {
  /** Receives the page, and the new page after each change: another object with the unchanged rows of the earlier page. */
  readonly onPage: (page: Page) => void;
  /**
   * The rows are not current: the stream has ended, or its server cannot be reached. `undefined` status: `followRows` connects
   * again. A status, such as 401, has ended it.
   */
  readonly onError?: ((error: LiveError) => void) | undefined;
  /** Ends it. */
  readonly signal: AbortSignal;
};

/** Why the rows are not current. */
export class LiveError extends Error {
  /** The HTTP status of the response that ended the stream; `undefined` while it connects again. */
  readonly status: number | undefined;
  constructor(status: number | undefined) {
    super(status === undefined ? "The connection is lost" : `The server responded with ${status}`);
    this.name = "LiveError";
    this.status = status;
  }
}

/**
 * Follows the rows that `relayRows` sends from this address, until `signal` aborts. After each connection the server sends
 * the whole page first, so nothing that changed in between is missed.
 */
export function followRows<Page extends RowPage<{ readonly id: string }>>(
  url: string,
  { onPage, onError, signal }: FollowOptions<Page>,
): void {
  let page: Page | undefined;
  const rejection = followStream({
    url,
    toHeaders: () => ({}),
    signal,
    onEvent: ({ data }) => {
      const now = applyPatch<{ readonly id: string }, Page>(page, JSON.parse(data));
      page = now;
      // An error of the caller is its own: it does not end the stream.
      queueMicrotask(() => {
        if (!signal.aborted) onPage(now);
      });
    },
    onEnd: () => onError?.(new LiveError(undefined)),
  });
  void rejection.then((ended) => {
    if (ended !== undefined) onError?.(new LiveError(ended.response.status));
  });
}
