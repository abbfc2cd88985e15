/** Watching a page: asks by its tag whether it has changed, after each change of its table or at intervals. @module */
import type { Watcher } from "./change_feed.ts";
import { DataError } from "./data_error.ts";

/** What watching needs of its options; the rest is for the poll. */
type Options = { readonly signal?: AbortSignal | undefined; readonly everyMs?: number | undefined };

/** Asks for the page: `page` is `undefined` if it still has the tag `known`. */
export type Poll<Page> = (
  options: Options,
  known: string | undefined,
) => Promise<{ page: Page | undefined; tag: string | undefined }>;

const EVERY_MS = 2_000;
const NEVER = new AbortController().signal;

/** The page, and again whenever it has changed. @throws {TypeError} for no time between two questions */
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

/** A failure that passes by itself leaves everything as it was. */
function waitOut(error: unknown, known: string | undefined) {
  if (error instanceof DataError && error.retryable) return { page: undefined, tag: known };
  throw error;
}
