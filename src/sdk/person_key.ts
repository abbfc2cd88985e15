/**
 * The person's key of a page: opened from the cookies at the host of the pages, shared by all calls, renewed before its end.
 * Only in memory. Never reads a cookie or the clock: the page's clock can be wrong.
 *
 * @module
 */

import { type Key, readObject, VISIBLE } from "./data_call.ts";
import { DataError, type DataErrorParts } from "./data_error.ts";
import type { IdentityUser } from "./identity_client.ts";
import { readRetryAfter } from "./retry_wait.ts";

/** A key, and the person that it acts for. Times are those of `performance.now()`. */
export type PersonKey = {
  readonly text: string;
  readonly user: IdentityUser;
  readonly renewAt: number;
  readonly endsAt: number;
};

export type PersonKeySource = {
  readonly url: string;
  readonly identityUrl: string;
  readonly app: string;
  /** A call found that no one is signed in. Once until someone is. */
  readonly onSignedOut: () => void;
  /** The person has another role than before. */
  readonly onOtherRole: () => void;
};

export type PersonKeys = {
  /** The key of a call: the held one, or a new one. */
  readonly authorize: () => Key | Promise<Key>;
  /** Forgets a rejected key. */
  readonly renew: (rejected: string) => void;
  /** Opens the first key; `undefined` if there was one. Callers share a request that is under way. */
  readonly openFirst: () => Promise<PersonKey | DataError | undefined>;
  /** Tells who is signed in, from another response. Returns whether it is the person of this page. */
  readonly notice: (user: IdentityUser | undefined) => boolean;
};

/** Renews a key before its end, so that no call fails for it. */
const MARGIN_MS = 30_000;

export function makePersonKeys(options: PersonKeySource): PersonKeys {
  let held: PersonKey | undefined;
  let opening: Promise<PersonKey | DataError> | undefined;
  /** The person whom the page shows. In another window of the browser, another person can have signed in since. */
  let person: { readonly id: string; role: string | null } | undefined;
  let isSignedOut = false;

  function open(): Promise<PersonKey | DataError> {
    opening ??= exchange(options).then((result) => {
      opening = undefined;
      const found =
        result instanceof DataError || notice(result.user) ? result : rejectOther(result.user);
      if (!(found instanceof DataError)) held = found;
      else if (!found.retryable) held = undefined;
      return found;
    });
    return opening;
  }

  function notice(user: IdentityUser | undefined): boolean {
    // After a sign-out, the same person can sign in again.
    if (user?.id !== person?.id) held = undefined;
    if (user === undefined) return false;
    const { id, role } = user;
    person ??= { id, role };
    if (id !== person.id || role === person.role) return id === person.id;
    held = undefined;
    person.role = role;
    options.onOtherRole();
    return true;
  }

  async function openForCall(): Promise<Key> {
    const result = await open();
    if (!(result instanceof DataError)) {
      isSignedOut = false;
      return result.text;
    }
    // The end is 30 s away: a short outage of the pages stops no one.
    if (result.retryable && held !== undefined && performance.now() < held.endsAt) return held.text;
    if (result.code === "unauthenticated" && !isSignedOut) {
      isSignedOut = true;
      options.onSignedOut();
    }
    return result;
  }

  return {
    authorize: () =>
      held !== undefined && performance.now() < held.renewAt ? held.text : openForCall(),
    renew: (rejected) => {
      if (held?.text === rejected) held = undefined;
    },
    openFirst: async () => (held === undefined || opening !== undefined ? await open() : undefined),
    notice,
  };
}

/** Nothing is read or written as a person whom the page does not show. */
function rejectOther({ email }: IdentityUser): DataError {
  const message = `${email} is signed in now, and this page is of another person: load the page again`;
  return new DataError(message, { status: 401, code: "unauthenticated" });
}

/** Longer than any useful wait for the pages. */
const EXCHANGE_MS = 20_000;

/** A new key of the signed-in person. */
async function exchange(source: PersonKeySource): Promise<PersonKey | DataError> {
  const { identityUrl, app } = source;
  const sentAt = performance.now();
  try {
    const response = await fetch(`${identityUrl}/session-key?app=${encodeURIComponent(app)}`, {
      method: "POST",
      credentials: "include",
      // No form, link or image can send it, so the browser asks the service first.
      headers: { "content-type": "application/json" },
      body: "{}",
      redirect: "manual",
      signal: AbortSignal.timeout(EXCHANGE_MS),
    });
    const body = readObject(await response.text()) ?? {};
    return toPersonKey(body, sentAt) ?? (await explainFailure(source, response, body));
  } catch (cause) {
    return await explainUnreachable(source, cause);
  }
}

function toPersonKey(
  { key, expiresInS, user }: { readonly [name: string]: unknown },
  sentAt: number,
): PersonKey | undefined {
  if (typeof key !== "string" || !VISIBLE.test(key) || typeof expiresInS !== "number")
    return undefined;
  const lifeMs = expiresInS * 1000;
  return {
    text: key,
    user: user as IdentityUser,
    renewAt: sentAt + Math.max(lifeMs - MARGIN_MS, lifeMs / 2),
    endsAt: sentAt + lifeMs,
  };
}

/** The codes of a service without the exchange: its pages respond with a page, its API with a code. */
const MISSING: readonly (string | undefined)[] = [undefined, "unknown_route", "method_not_allowed"];

async function explainFailure(
  source: PersonKeySource,
  { status, headers }: Response,
  body: { readonly [name: string]: unknown },
): Promise<DataError> {
  const given = typeof body["error"] === "string" ? body["error"] : undefined;
  const { app, identityUrl } = source;
  const fail = (message: string, code: string, more: Partial<DataErrorParts> = {}) =>
    new DataError(message, { status, code, ...more });
  if (status === 401 && given !== undefined)
    return fail("No one is signed in: call login() to sign in", "unauthenticated");
  if (status === 403 && given !== undefined)
    return fail(
      (await askSession(source)) === 200
        ? `Browser access is off for ${app}: an operator turns it on (rowhouse admin set-app <app> browser on)`
        : `The person has no role on ${app}`,
      "forbidden",
    );
  if (MISSING.includes(given) && status < 500)
    return fail(
      `The service has no browser access: it needs PREVIEW=browser, and identityUrl (${identityUrl}) must be the host of its pages`,
      "not_implemented",
    );
  return fail(
    `Cannot open a key for ${app}: the service responded with ${status}`,
    given ?? "request_failed",
    {
      retryable: status === 429 || (status >= 500 && status !== 501),
      retryAfterMs: readRetryAfter(headers.get("retry-after"), Date.now()),
    },
  );
}

/**
 * A browser hides why it cannot read a response. The API has the session's endpoint without the preview, for the same
 * origins: if a page can read that, the exchange is missing.
 */
async function explainUnreachable(source: PersonKeySource, cause: unknown): Promise<DataError> {
  const { url, identityUrl, app } = source;
  const status = await askSession(source);
  const reason =
    status === undefined
      ? `Cannot reach ${url} and ${identityUrl}: the service must run, and ${nameOrigin()} must be an origin of the app`
      : status === 404
        ? `The service at ${url} has no app ${app}`
        : `Cannot open a key at ${identityUrl}, although ${url} responds: browser access needs PREVIEW=browser in the service, and identityUrl must be the host of its pages`;
  return new DataError(reason, { status: 0, code: "network_error", retryable: true, cause });
}

/** Outside of a browser, such as in a test, a page has no origin. */
function nameOrigin(): string {
  return globalThis.location === undefined ? "this page's origin" : location.origin;
}

/** The status of the session on the app; `undefined` if the page cannot read it. */
async function askSession({ url, app }: PersonKeySource): Promise<number | undefined> {
  return await fetch(`${url}/v1/auth/me?app=${encodeURIComponent(app)}`, {
    credentials: "include",
    signal: AbortSignal.timeout(EXCHANGE_MS),
  }).then(
    ({ status }) => status,
    () => undefined,
  );
}
