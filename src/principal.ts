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
] as const;
export type Scope = (typeof SCOPES)[number];

/** The scopes of a key that develops an app: `schema:push` includes `schema:read`. Deleting columns needs more. */
export const APP_SCOPES = [
  "data:read",
  "data:write",
  "schema:push",
] as const satisfies readonly Scope[];

/** The bits that the database stores for the scopes of a key. */
export const SCOPE_BITS = {
  "data:read": 1,
  "data:write": 2,
  "schema:push": 4,
  "schema:read": 8,
  "schema:drop": 16,
} as const satisfies Record<Scope, number>;

/** Returns whether the scopes include the wanted scope; `schema:push` includes `schema:read`. */
export function allows(scopes: readonly Scope[], wanted: Scope): boolean {
  return scopes.includes(wanted) || (wanted === "schema:read" && scopes.includes("schema:push"));
}

declare const checked: unique symbol;

/** An app with a verified key: the only source of an app id behind the gateway. */
export type Principal = {
  readonly appId: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  /** Proof of the key for the database: 32 bytes. A secret: never logged, never displayed. */
  readonly proof: Uint8Array;
  /** Whether the Console acts for the app: its requests have a separate rate limit. */
  readonly isOfConsole: boolean;
  readonly [checked]: true;
};

/** The principal for a key that has just been verified. Only the gateway may call this; a test checks it. */
export function makePrincipal(key: {
  appId: string;
  keyId: string;
  scopes: readonly Scope[];
  proof: Uint8Array;
  isOfConsole?: boolean | undefined;
}): Principal {
  const { appId, keyId, scopes, proof, isOfConsole = false } = key;
  return Object.freeze({ appId, keyId, scopes, proof, isOfConsole }) as Principal;
}
