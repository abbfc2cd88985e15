/**
 * The last pages of responses, in bounded memory. A page is served from the cache only after the database has confirmed,
 * in the same request, that its tag is current. No app can fill the cache at the cost of other apps. Pure except for its state.
 *
 * @module
 */
import type { TaggedBody } from "../http/mod.ts";

export type ListCache = {
  readonly find: (appId: string, cacheKey: string) => TaggedBody | undefined;
  readonly keep: (appId: string, cacheKey: string, page: TaggedBody) => void;
  /** Cached bytes. */
  readonly size: () => number;
};

const OVERHEAD_BYTES = 512;
/** Max share of the memory per page. */
const MAX_PART = 8;

type AppPages = { pages: Map<string, TaggedBody>; bytes: number };

/** A cache of max `maxBytes`; 0 disables it. */
export function makeListCache(maxBytes: number): ListCache {
  /** Apps and their pages, both in order of use, least recently used first. */
  const apps = new Map<string, AppPages>();
  let bytes = 0;

  function drop(appId: string, app: AppPages, cacheKey: string): void {
    const page = app.pages.get(cacheKey);
    if (page === undefined) return;
    app.pages.delete(cacheKey);
    app.bytes -= costOf(page);
    bytes -= costOf(page);
    if (app.pages.size === 0) apps.delete(appId);
  }

  /** Evicts pages of apps that hold at least their share, least recently used first. There is always such an app. */
  function evictOldest(): void {
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

  function touch(appId: string, app: AppPages): void {
    apps.delete(appId);
    apps.set(appId, app);
  }

  return {
    find: (appId, cacheKey) => {
      const app = apps.get(appId);
      const page = app?.pages.get(cacheKey);
      if (app === undefined || page === undefined) return undefined;
      touch(appId, app);
      app.pages.delete(cacheKey);
      app.pages.set(cacheKey, page);
      return page;
    },
    keep: (appId, cacheKey, page) => {
      const app = apps.get(appId) ?? { pages: new Map(), bytes: 0 };
      drop(appId, app, cacheKey);
      if (costOf(page) > maxBytes / MAX_PART) return;
      touch(appId, app);
      // The bytes from the driver can be a small part of a large buffer.
      app.pages.set(cacheKey, { ...page, body: page.body.slice() });
      app.bytes += costOf(page);
      bytes += costOf(page);
      evictOldest();
    },
    size: () => bytes,
  };
}

function costOf({ body }: TaggedBody): number {
  return body.length + OVERHEAD_BYTES;
}
