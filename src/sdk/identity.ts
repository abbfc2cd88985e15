/**
 * The identity client: checks who is signed in and can use this app, and signs people in and out. For browsers: the client
 * cannot read the session cookie, and requests the session from the service each time.
 *
 * @example
 * ```ts
 * import { createIdentityClient } from "rowhouse/identity";
 *
 * const identity = createIdentityClient({
 *   url: "https://api.example.org",
 *   identityUrl: "https://id.example.org",
 *   app: "wiki",
 * });
 *
 * async function start() {
 *   const user = await identity.requireUser({ onForbidden: () => console.log("Ask for access") });
 *   console.log(`Hello, ${user.displayName ?? user.email}`);
 * }
 * ```
 * @module
 */

import {
  type IdentityClient,
  type IdentityClientOptions,
  makeIdentityClient,
} from "./identity_client.ts";

export {
  type AppPerson,
  type IdentityClient,
  type IdentityClientOptions,
  IdentityError,
  type IdentityUser,
  type RequireUserOptions,
  type SessionState,
} from "./identity_client.ts";

/**
 * A client for one app. Sends nothing until a method is called.
 *
 * @throws {TypeError} for an invalid `url` or `identityUrl`
 *
 * @example
 * ```ts
 * import { createIdentityClient } from "rowhouse/identity";
 *
 * const identity = createIdentityClient({
 *   url: "https://api.example.org",
 *   identityUrl: "https://id.example.org",
 *   app: "wiki",
 * });
 * expect(identity.loginUrl("https://wiki.example.org/a?b=c")).toBe(
 *   "https://id.example.org/authorize?app=wiki&redirect_uri=https%3A%2F%2Fwiki.example.org%2Fa%3Fb%3Dc",
 * );
 * ```
 */
export function createIdentityClient(options: IdentityClientOptions): IdentityClient {
  return makeIdentityClient(options, (ask) => ask());
}
