/**
 * The signed context: data about a request from the gateway to a service, as base64url of JSON. A service trusts it only
 * after it has verified the signature.
 *
 * @module
 */
import * as v from "valibot";
import { VIRTUAL_HOSTS, type VirtualHost } from "../http/mod.ts";
import { makePrincipal, type Principal, SCOPES } from "../principal.ts";
import { tryParseJson } from "../std/json.ts";

export type SignedContext = {
  readonly requestId: string;
  /** The client's address. */
  readonly address: string;
  readonly virtualHost: VirtualHost;
  /** `Host` as the caller sent it, for a service that compares it with an `Origin`. */
  readonly host?: string | undefined;
  /** The app and key of the request; absent if the route needs no key. */
  readonly principal: Principal | undefined;
  /** The body exceeded the route's limit and was not sent: the service rejects the request in its own order of checks. */
  readonly oversize: boolean;
};

const Wire = v.strictObject({
  requestId: v.pipe(v.string(), v.minLength(1), v.maxLength(64)),
  address: v.pipe(v.string(), v.maxLength(64)),
  virtualHost: v.picklist(VIRTUAL_HOSTS),
  host: v.optional(v.string()),
  key: v.optional(
    v.strictObject({
      appId: v.pipe(v.string(), v.uuid()),
      keyId: v.string(),
      scopes: v.array(v.picklist(SCOPES)),
      proof: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{43}$/)),
      isOfConsole: v.optional(v.literal(true)),
      person: v.optional(v.strictObject({ id: v.pipe(v.string(), v.uuid()), role: v.string() })),
    }),
  ),
  oversize: v.optional(v.literal(true)),
});

export function writeSignedContext({ principal, oversize, host, ...rest }: SignedContext): string {
  const wire: v.InferInput<typeof Wire> = { ...rest };
  if (host !== undefined) wire.host = host;
  if (principal !== undefined) {
    const { appId, keyId, scopes, proof, isOfConsole, person } = principal;
    wire.key = {
      appId,
      keyId,
      scopes: [...scopes],
      proof: Buffer.from(proof).toString("base64url"),
      ...(isOfConsole && { isOfConsole }),
      ...(person !== undefined && { person: { id: person.id, role: person.role } }),
    };
  }
  if (oversize) wire.oversize = true;
  return Buffer.from(JSON.stringify(wire)).toString("base64url");
}

/** The context in a header; `undefined` if it is malformed. */
export function readSignedContext(text: string): SignedContext | undefined {
  const read = v.safeParse(Wire, tryParseJson(Buffer.from(text, "base64url").toString()));
  if (!read.success) return undefined;
  const { key, oversize = false, ...rest } = read.output;
  return { ...rest, oversize, principal: key === undefined ? undefined : toPrincipal(key) };
}

function toPrincipal({ proof, ...key }: NonNullable<v.InferOutput<typeof Wire>["key"]>): Principal {
  return makePrincipal({ ...key, proof: Buffer.from(proof, "base64url") });
}
