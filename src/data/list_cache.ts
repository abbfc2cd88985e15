/**
 * The last pages that were answered, in bounded memory. A page is only ever answered from here when the database has just
 * said, in that very request, that its tag is still right. No app can fill it at the cost of others. Pure but for its state.
 *
 * @module
 */
import type { TaggedBody } from "../http/mod.ts";

export type ListCache = {
  /** The page that was last answered for these words of an app. */
  readonly find: (appId: string, words: string) => TaggedBody | undefined;
  readonly keep: (appId: string, words: string, page: TaggedBody) => void;
  /** Bytes that are held. */
  readonly size: () => number;
};

/** What keeping a page costs beside its body. */
const OVERHEAD_BYTES = 512;
/** One page may take this part of the memory. */
const MAX_PART = 8;

type AppPages = { pages: Map<string, TaggedBody>; bytes: number };

/** A cache of at most `maxBytes`; none at all of 0. */
export function makeListCache(maxBytes: number): ListCache {
  /** Apps and their pages, each in order of use, the longest unused first. */
  const apps = new Map<string, AppPages>();
  let bytes = 0;

  function drop(appId: string, app: AppPages, words: string): void {
    const page = app.pages.get(words);
    if (page === undefined) return;
    app.pages.delete(words);
    app.bytes -= costOf(page);
    bytes -= costOf(page);
    if (app.pages.size === 0) apps.delete(appId);
  }

  /** Room is made by apps that hold no less than their share, the longest unused first; there always is one. */
  function makeRoom(): void {
    while (bytes > maxBytes) {
      const share = bytes / apps.size;
      for (const [appId, app] of apps) {
        if (app.bytes < share) continue;
        const [oldest = ""] = app.pages.keys();
        drop(appId, app, oldest);
        break;
      }
    }
  }

  function touch(appId: string, app: AppPages): AppPages {
    apps.delete(appId);
    apps.set(appId, app);
    return app;
  }

  return {
    find: (appId, words) => {
      const app = apps.get(appId);
      const page = app?.pages.get(words);
      if (app === undefined || page === undefined) return undefined;
      touch(appId, app);
      app.pages.delete(words);
      app.pages.set(words, page);
      return page;
    },
    keep: (appId, words, page) => {
      const found = apps.get(appId);
      if (found !== undefined) drop(appId, found, words);
      if (costOf(page) > maxBytes / MAX_PART) return;
      const app = touch(appId, apps.get(appId) ?? { pages: new Map(), bytes: 0 });
      // What the driver read may be a small part of a large buffer.
      app.pages.set(words, { ...page, body: page.body.slice() });
      app.bytes += costOf(page);
      bytes += costOf(page);
      makeRoom();
    },
    size: () => bytes,
  };
}

function costOf({ body }: TaggedBody): number {
  return body.length + OVERHEAD_BYTES;
}
