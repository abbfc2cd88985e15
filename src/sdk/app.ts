/**
 * The client of an app without a server: who is signed in, and the rows that the app's rules let this person read and write.
 * For pages on a registered origin. It holds one key in memory: of this person and this app, for at most ten minutes. It acts for one
 * person, the first: if another signs in, in another window, it takes no one as signed in until the page is loaded again.
 *
 * The service needs `PREVIEW=browser`, and browser access is turned on for the app.
 *
 * @example
 * ```ts
 * import { createAppClient } from "rowhouse/app";
 * import { defineSchema, t } from "rowhouse/schema";
 *
 * const schema = defineSchema({ todos: { title: t.string().required() } });
 * const app = createAppClient({
 *   url: "https://api.example.org",
 *   identityUrl: "https://id.example.org",
 *   app: "wiki",
 *   schema,
 * });
 *
 * async function add(title: string) {
 *   const { email } = await app.requireUser();
 *   const todo = await app.db.todos.create({ title });
 *   console.log(`${email} added ${todo.title}`);
 * }
 * ```
 * @module
 */

import type { Schema } from "../schema/mod.ts";
import { makeClient, makeConnection } from "./client.ts";
import type { DataClient, DataClientOptions } from "./data.ts";
import { fail } from "./data_call.ts";
import { DataError } from "./data_error.ts";
import {
  type IdentityClient,
  type IdentityClientOptions,
  IdentityError,
  makeIdentityClient,
  type SessionState,
} from "./identity_client.ts";
import { explainMissing } from "./missing_preview.ts";
import { makePersonKeys } from "./person_key.ts";
import { readServiceUrl } from "./service_url.ts";
import type { NoTables } from "./table_client.ts";

export { DataError, type DataErrorCode, type DataErrorDetail } from "./data_error.ts";
export { IdentityError, type IdentityUser, type SessionState } from "./identity_client.ts";

/** Settings of a client. */
export type AppClientOptions = IdentityClientOptions &
  Pick<DataClientOptions, "timeoutMs" | "retries" | "cache" | "strict"> & {
    /**
     * Called when a call of `db` finds that no one is signed in; again only after someone was. The call rejects with a
     * `DataError` with code `unauthenticated` in any case. Default: nothing, so that a half-filled form is not lost.
     */
    readonly onSignedOut?: (() => void) | undefined;
  };

/** The methods of the identity client, and `db`: one `TableClient` per table. */
export type AppClient<S> = IdentityClient & {
  readonly db: DataClient<S>;
  /**
   * The header of a request to this app's own server, `Bearer <key>`: the server acts for the person with it, for at most ten
   * minutes (`rowhouse/server`). Never send it to another app.
   *
   * @throws {DataError} as a call of `db`
   */
  readonly authorization: () => Promise<string>;
  /**
   * Calls back when a call of `db` finds that the person is no longer signed in, as `onSignedOut`. Returns a function that ends it.
   */
  readonly onSignOut: (listener: () => void) => () => void;
};

/**
 * A client for one app and the person who is signed in. Sends nothing until a method is called. The types come from the
 * schema, or only from a type: `createAppClient<typeof schema>` does not ship the rules with the page. Then `watch` polls for
 * related rows and conditions on them, as with `createDataClient`.
 *
 * The first call opens a key for the person, which later calls share and renew. Calls reject with a `DataError`: with code
 * `unauthenticated` if no one is signed in, with code `forbidden` if the person has no role or a rule does not allow the call.
 *
 * @throws {TypeError} for an invalid `url`, `identityUrl`, `schema` or number
 *
 * @example
 * ```ts
 * import { createAppClient, DataError } from "rowhouse/app";
 *
 * const app = createAppClient<{
 *   todos: { row: { id: string; title: string }; insert: { title: string }; update: { title?: string } };
 * }>({
 *   url: "https://api.example.org",
 *   identityUrl: "https://id.example.org",
 *   app: "wiki",
 *   onSignedOut: () => console.log("Sign in again, then save"),
 * });
 * const save = (title: string) =>
 *   app.db.todos.create({ title }).catch((error: unknown) => {
 *     if (error instanceof DataError && error.code === "unauthenticated") return undefined;
 *     throw error;
 *   });
 * expect(save).toBeFunction();
 * ```
 */
export function createAppClient<S = NoTables>(
  options: AppClientOptions & { readonly schema?: S & Schema },
): AppClient<S>;
export function createAppClient(
  options: AppClientOptions & { readonly schema?: unknown },
): Omit<AppClient<unknown>, "db"> & { readonly db: object } {
  const { schema, onSignedOut, ...given } = options;
  const identity = makeIdentityClient(options, askSession);
  const listeners = new Set<() => void>();
  const baseUrl = readServiceUrl("url", options.url);
  const keys = makePersonKeys({
    url: baseUrl,
    identityUrl: readServiceUrl("identityUrl", options.identityUrl),
    app: options.app,
    onSignedOut: () => {
      // An error of the caller is its own.
      for (const listener of [onSignedOut, ...listeners])
        if (listener !== undefined) queueMicrotask(listener);
    },
    onOtherRole: () => {
      connection.stored?.clear();
      for (const restart of [...connection.restarts]) restart();
    },
  });
  const connection = makeConnection({
    ...given,
    baseUrl,
    authorize: keys.authorize,
    renew: keys.renew,
    explain: explainMissing,
  });
  let isFirst = true;

  /** The first session is that of the exchange, which the calls need anyway. */
  async function askSession(ask: () => Promise<SessionState>): Promise<SessionState> {
    const opened = isFirst ? await keys.openFirst() : undefined;
    isFirst = false;
    if (opened !== undefined && !(opened instanceof DataError))
      return { status: "authenticated", user: opened.user };
    if (opened?.code === "unauthenticated") return { status: "unauthenticated" };
    const session = await ask().catch((error: unknown) => {
      // A browser hides the reason of a failed fetch; the attempt to open a key has found it.
      throw error instanceof IdentityError ? error : (opened ?? error);
    });
    return keys.notice(session.user) ? session : { status: "unauthenticated" };
  }

  async function authorization(): Promise<string> {
    const key = await keys.authorize();
    if (key instanceof DataError) throw fail({ name: "authorization" }, key.message, key);
    return `Bearer ${key}`;
  }

  function onSignOut(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  return Object.freeze({
    ...identity,
    authorization,
    onSignOut,
    db: makeClient(connection, schema),
  });
}
