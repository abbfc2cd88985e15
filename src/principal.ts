/**
 * Principal: which app a request speaks for. Only the gateway makes one, from a checked API key, so an app id never comes
 * from a path, a header or a body.
 *
 * @module
 */

export const SCOPES = ["data:read", "data:write", "schema:read", "schema:push"] as const;
export type Scope = (typeof SCOPES)[number];

/** The scopes of a key for everything that an app does: `schema:push` includes `schema:read`. */
export const APP_SCOPES = [
  "data:read",
  "data:write",
  "schema:push",
] as const satisfies readonly Scope[];

/** One bit for each: this is how the database stores what a key may do. */
export const SCOPE_BITS = {
  "data:read": 1,
  "data:write": 2,
  "schema:push": 4,
  "schema:read": 8,
} as const satisfies Record<Scope, number>;

/** Whether a key with these scopes can do what one scope allows: a key that can push a schema can read it too. */
export function allows(scopes: readonly Scope[], wanted: Scope): boolean {
  return scopes.includes(wanted) || (wanted === "schema:read" && scopes.includes("schema:push"));
}

declare const checked: unique symbol;

/** An app whose key was checked: the only source of an app id behind the gateway. */
export type Principal = {
  readonly appId: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  /** Proof of the key for the database: 32 bytes. A secret: never logged, never displayed. */
  readonly proof: Uint8Array;
  /** Whether the Console speaks for the app: its requests have a rate limit of their own. */
  readonly isOfConsole: boolean;
  readonly [checked]: true;
};

/** The principal for a key that has just been verified. Only the gateway may call this; a test checks it. */
export function makePrincipal(key: {
  appId: string;
  keyId: string;
  scopes: readonly Scope[];
  proof: Uint8Array;
  isOfConsole?: boolean;
}): Principal {
  const { appId, keyId, scopes, proof, isOfConsole = false } = key;
  return Object.freeze({ appId, keyId, scopes, proof, isOfConsole }) as Principal;
}
