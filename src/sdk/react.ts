/**
 * The session and live rows as React state. `useSession` returns who is signed in, and renders again when that changes. Checks
 * the session when a component first uses it, when the tab becomes visible, and when the network returns. Never reads the
 * cookie. `useLive` returns the rows that the app's server relays.
 *
 * @module
 */
import { useEffect, useState, useSyncExternalStore } from "react";
import type { IdentityClient, SessionState } from "./identity.ts";
import { followRows, type LiveError } from "./live.ts";
import type { RowPage } from "./patches.ts";

/** The last known session. Its status is `loading` until a check succeeds, and always on a server. */
export type Session = (SessionState | { readonly status: "loading"; readonly user?: never }) & {
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

/** The session of a client. Create the client once, outside of components. */
export function useSession(identity: IdentityClient): Session {
  const { subscribe, getSession } = findStore(identity);
  return useSyncExternalStore(subscribe, getSession, () => LOADING);
}

function findStore(identity: IdentityClient): Store {
  const store = stores.get(identity) ?? makeStore(identity);
  stores.set(identity, store);
  return store;
}

function makeStore(identity: IdentityClient): Store {
  const listeners = new Set<() => void>();
  let session: Session = { ...LOADING, check };
  let checks = 0;

  async function check(): Promise<void> {
    const current = ++checks;
    const next = await identity.getSession().then(
      (state): Session => ({ ...state, error: undefined, check }),
      (cause): Session => ({ ...session, error: toError(cause) }),
    );
    // Ignore the result if a later check has started or the session is unchanged.
    if (current !== checks || isEqual(next, session)) return;
    session = next;
    for (const onChange of listeners) onChange();
  }

  function checkIfVisible(): void {
    if (document.visibilityState === "visible") void check();
  }

  function subscribe(onChange: () => void): () => void {
    listeners.add(onChange);
    if (listeners.size === 1) {
      document.addEventListener("visibilitychange", checkIfVisible);
      addEventListener("online", checkIfVisible);
      void check();
    }
    return () => {
      listeners.delete(onChange);
      if (listeners.size > 0) return;
      document.removeEventListener("visibilitychange", checkIfVisible);
      removeEventListener("online", checkIfVisible);
    };
  }

  return { subscribe, getSession: () => session };
}

function isEqual(a: Session, b: Session): boolean {
  return a.error === b.error && JSON.stringify(a) === JSON.stringify(b);
}

function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error("Cannot check the session", { cause });
}

/** The page that the server relays. */
export type Live<Page> = {
  /** The current page; `undefined` until it arrives. */
  readonly page: Page | undefined;
  /** Why the page is not current. With a status, such as 401, the stream has ended. Otherwise it connects again. */
  readonly error: LiveError | undefined;
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

const NOTHING = { page: undefined, error: undefined };
