/**
 * Principal: the app that a request acts for. Only the gateway creates principals, from verified API keys, so an app id
 * never comes from a path, a header or a body.
 *
 * @module
 */

export const SCOPES = [
  "data:read",
  "data:write",
  "schema:read",
  "schema:push",
  "schema:drop",
  "schema:rules",
] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * The scopes of a key that develops an app: `schema:push` includes `schema:read`. It reads all rows, so that rules which show rows to
 * more people give it nothing. Deleting columns needs more.
 */
export const APP_SCOPES = [
  "data:read",
  "data:write",
  "schema:push",
  "schema:rules",
] as const satisfies readonly Scope[];

/** The bits that the database stores for the scopes of a key. */
export const SCOPE_BITS = {
  "data:read": 1,
  "data:write": 2,
  "schema:push": 4,
  "schema:read": 8,
  "schema:drop": 16,
  // The bits between are those of people, and of settings of the app.
  "schema:rules": 512,
} as const satisfies Record<Scope, number>;

/**
 * The bit of a person's key, instead of the bits of scopes: functions for API keys reject the proof of a person's key, and
 * functions for people reject the proof of an API key.
 */
export const PERSON_BIT = 32;

/** Returns whether the scopes include the wanted scope; `schema:push` includes `schema:read`. */
export function allows(scopes: readonly Scope[], wanted: Scope): boolean {
  return scopes.includes(wanted) || (wanted === "schema:read" && scopes.includes("schema:push"));
}

declare const checked: unique symbol;

/** The person whose page sent a request, with their role on the app. */
export type Person = { readonly id: string; readonly role: string };

/** An app with a verified key: the only source of an app id behind the gateway. */
export type Principal = {
  readonly appId: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  /** Proof of the key for the database: 32 bytes. A secret: never logged, never displayed. */
  readonly proof: Uint8Array;
  /** Whether the Console acts for the app: its requests have a separate rate limit. */
  readonly isOfConsole: boolean;
  /** The person of a person's key; absent for API keys. For caches, rate limits and texts: the database's own record decides. */
  readonly person?: Person | undefined;
  readonly [checked]: true;
};

/** The principal for a key that has just been verified. Only the gateway may call this; a test checks it. */
export function makePrincipal(key: {
  appId: string;
  keyId: string;
  scopes: readonly Scope[];
  proof: Uint8Array;
  isOfConsole?: boolean | undefined;
  person?: Person | undefined;
}): Principal {
  const { appId, keyId, scopes, proof, isOfConsole = false, person } = key;
  return Object.freeze({ appId, keyId, scopes, proof, isOfConsole, person }) as Principal;
}
