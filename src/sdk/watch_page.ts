/** Watches a page: requests it by its tag after each change of its table, or at intervals. @module */
import type { Watcher } from "./change_feed.ts";
import { DataError } from "./data_error.ts";

/** The options of the watch; the other options belong to the request. */
type Options = { readonly signal?: AbortSignal | undefined; readonly everyMs?: number | undefined };

/** Requests the page: `page` is `undefined` if it still has the tag `known`. */
export type Poll<Page> = (
  options: Options,
  known: string | undefined,
) => Promise<{ page: Page | undefined; tag: string | undefined }>;

const EVERY_MS = 2_000;
const NEVER = new AbortController().signal;

/** The page, and the new page after each change. @throws {TypeError} unless the interval is above 0 */
export async function* watchPage<Page>(
  poll: Poll<Page>,
  options: Options,
  join: () => Watcher,
): AsyncGenerator<Page, void, undefined> {
  const { everyMs = EVERY_MS, signal = NEVER } = options;
  if (!(everyMs > 0)) {
    throw new TypeError(`Cannot poll every ${everyMs} ms: everyMs must be a number above 0`);
  }
  let known: string | undefined;
  const watcher = join();
  try {
    for (;;) {
      const { page, tag } = await poll(options, known).catch((error: unknown) =>
        waitOut(error, known),
      );
      known = tag;
      if (page !== undefined) yield page;
      await watcher.wait(everyMs, signal);
    }
  } finally {
    watcher.end();
  }
}

/** A temporary failure changes nothing. */
function waitOut(error: unknown, known: string | undefined) {
  if (error instanceof DataError && error.retryable) return { page: undefined, tag: known };
  throw error;
}
