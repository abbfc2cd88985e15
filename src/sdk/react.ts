/**
 * The session and live rows as React state. `useSession` returns who is signed in, and renders again when that changes. Checks
 * the session when a component first uses it, when the tab becomes visible, and when the network returns. Never reads the
 * cookie. `useRows` returns the rows of the app client, `useLive` those that the app's server relays.
 *
 * @module
 */
"use client";

import { useEffect, useState, useSyncExternalStore } from "react";
import type { IdentityClient, IdentityUser, SessionState } from "./identity.ts";
import { followRows, type LiveError } from "./live.ts";
import type { RowPage } from "./patches.ts";
import type { Selected, SelectItem } from "./select.ts";
import type { Page, Select, TableClient, TableTypes, WatchOptions } from "./table_client.ts";

/**
 * The last known session. Its status is `loading` until a check succeeds, and always on a server. It is `ended` if the person was
 * signed in on this page and is no longer: the page can keep a half-filled form until the person signs in again.
 */
export type Session = (
  | SessionState
  | { readonly status: "loading"; readonly user?: never }
  | { readonly status: "ended"; readonly user: IdentityUser }
) & {
  /** Why the last check failed; undefined after a check that succeeded. After a failure, the session stays unchanged. */
  readonly error: Error | undefined;
  /** Checks the session again, such as after a 401 of your own server. Never rejects: a failure is the `error`. */
  readonly check: () => Promise<void>;
};

type Store = {
  readonly subscribe: (onChange: () => void) => () => void;
  readonly getSession: () => Session;
};

/** One store for each client: all components of a page share its requests. */
const stores = new WeakMap<IdentityClient, Store>();

const LOADING: Session = { status: "loading", error: undefined, check: async () => undefined };

/** A client whose calls can find that the person is no longer signed in. */
type Client = IdentityClient & { readonly onSignOut?: (listener: () => void) => () => void };

/** The session of a client. Create the client once, outside of components. */
export function useSession(identity: Client): Session {
  const { subscribe, getSession } = findStore(identity);
  return useSyncExternalStore(subscribe, getSession, () => LOADING);
}

function findStore(identity: Client): Store {
  const store = stores.get(identity) ?? makeStore(identity);
  stores.set(identity, store);
  return store;
}

function makeStore(identity: Client): Store {
  const listeners = new Set<() => void>();
  let forget: (() => void) | undefined;
  let session: Session = { ...LOADING, check };
  let checks = 0;

  async function check(): Promise<void> {
    const current = ++checks;
    const next = await identity.getSession().then(
      (state): Session => ({ ...toNext(session, state), error: undefined, check }),
      (cause): Session => ({ ...session, error: toError(cause) }),
    );
    // Ignore the result if a later check has started or the session is unchanged.
    if (current !== checks || isEqual(next, session)) return;
    session = next;
    for (const onChange of listeners) onChange();
  }

  function subscribe(onChange: () => void): () => void {
    listeners.add(onChange);
    if (listeners.size === 1) {
      const stop = new AbortController();
      onReturn(() => void check(), stop.signal);
      const endListening = identity.onSignOut?.(() => void check());
      forget = () => {
        stop.abort();
        endListening?.();
      };
      void check();
    }
    return () => {
      listeners.delete(onChange);
      if (listeners.size === 0) forget?.();
    };
  }

  return { subscribe, getSession: () => session };
}

/** Calls back when the tab becomes visible and when the network returns. */
function onReturn(listener: () => void, signal: AbortSignal): void {
  const callIfVisible = () => {
    if (document.visibilityState === "visible") listener();
  };
  document.addEventListener("visibilitychange", callIfVisible, { signal });
  addEventListener("online", callIfVisible, { signal });
}

function toNext({ status, user }: Session, found: SessionState) {
  const isEnded = status === "authenticated" || status === "ended";
  return isEnded && found.status === "unauthenticated"
    ? ({ status: "ended", user } as const)
    : found;
}

function isEqual(a: Session, b: Session): boolean {
  return a.error === b.error && JSON.stringify(a) === JSON.stringify(b);
}

function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error("Cannot reach the service", { cause });
}

/** A page that follows its rows. */
export type Live<Page, Failure = LiveError> = {
  /** The current page; `undefined` until it arrives. */
  readonly page: Page | undefined;
  /** Why the page is not current. With a status, such as 401, the stream has ended. Otherwise it connects again. */
  readonly error: Failure | undefined;
};

/** The live page of `relayRows` at this address. Ends its stream when the component unmounts or the address changes. */
export function useLive<Page extends RowPage<{ readonly id: string }>>(url: string): Live<Page> {
  const [state, setState] = useState<Live<Page> & { readonly url: string }>();
  useEffect(() => {
    const stop = new AbortController();
    followRows<Page>(url, {
      signal: stop.signal,
      onPage: (page) => setState({ url, page, error: undefined }),
      onError: (error) =>
        setState((known) => ({ url, page: known?.url === url ? known.page : undefined, error })),
    });
    return () => stop.abort();
  }, [url]);
  return state?.url === url ? state : NOTHING;
}

/** The page to follow: `useRows` ends the stream itself. */
type RowsOptions<Types extends TableTypes, Tables> = Omit<
  WatchOptions<Types["row"], Tables>,
  "signal"
>;

/**
 * The rows that `watch` of a table returns, for the app client, with the columns in `select`. After an error, such as the end of the
 * session, the last page stays; the rows are followed again when the tab becomes visible or the network returns. The options must be JSON.
 */
export function useRows<
  Types extends TableTypes,
  Tables,
  Name extends keyof Tables,
  const Items extends readonly SelectItem<Tables, Name>[],
>(
  table: TableClient<Types, Tables, Name>,
  options: RowsOptions<Types, Tables> & Select<Tables, Name, Items>,
): Live<Page<Selected<Tables, Name, Items>>, Error>;
export function useRows<Types extends TableTypes, Tables, Name extends keyof Tables>(
  table: TableClient<Types, Tables, Name>,
  options?: RowsOptions<Types, Tables>,
): Live<Page<Types["row"]>, Error>;
export function useRows<Types extends TableTypes, Tables, Name extends keyof Tables>(
  table: TableClient<Types, Tables, Name>,
  options: RowsOptions<Types, Tables> = {},
): Live<Page<object>, Error> {
  type Known = Live<Page<object>, Error> & { readonly table: unknown; readonly text: string };
  const [state, setState] = useState<Known>();
  const text = JSON.stringify(options);
  useEffect(() => {
    const stop = new AbortController();
    let isFollowing = false;
    const follow = async () => {
      if (isFollowing) return;
      isFollowing = true;
      const { signal } = stop;
      const watched: WatchOptions<Types["row"], Tables> = { ...JSON.parse(text), signal };
      try {
        for await (const page of table.watch(watched))
          setState({ table, text, page, error: undefined });
      } catch (cause) {
        if (signal.aborted) return;
        const error = toError(cause);
        setState((known) => ({ table, text, page: known?.page, error }));
      }
      isFollowing = false;
    };
    onReturn(() => void follow(), stop.signal);
    void follow();
    return () => stop.abort();
  }, [table, text]);
  return state?.table === table && state.text === text ? state : NOTHING;
}

const NOTHING = { page: undefined, error: undefined };
