/**
 * Identity context: what the gateway tells a service of a request, beside the request itself. Travels signed and as
 * base64url of JSON; a service believes it only after the signature held.
 *
 * @module
 */
import * as v from "valibot";
import { VIRTUAL_HOSTS, type VirtualHost } from "../http/mod.ts";
import { makePrincipal, type Principal, SCOPES } from "../principal.ts";
import { tryParseJson } from "../std/try_parse_json.ts";

export type SignedContext = {
  readonly requestId: string;
  /** The client's address. */
  readonly address: string;
  readonly virtualHost: VirtualHost;
  /** `Host` as the caller sent it, for a service that compares it with an `Origin`. */
  readonly host?: string | undefined;
  /** Whom the key speaks for; absent where the route asks for none. */
  readonly principal: Principal | undefined;
  /** The body passed the route's limit and stayed behind: the service refuses it where its own checks come to it. */
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
    }),
  ),
  oversize: v.optional(v.literal(true)),
});

export function writeSignedContext({ principal, oversize, host, ...rest }: SignedContext): string {
  const wire: v.InferInput<typeof Wire> = { ...rest };
  if (host !== undefined) wire.host = host;
  if (principal !== undefined) {
    const { appId, keyId, scopes, proof } = principal;
    wire.key = {
      appId,
      keyId,
      scopes: [...scopes],
      proof: Buffer.from(proof).toString("base64url"),
    };
  }
  if (oversize) wire.oversize = true;
  return Buffer.from(JSON.stringify(wire)).toString("base64url");
}

/** The context of a header's text, or `undefined` where it is none. */
export function readSignedContext(text: string): SignedContext | undefined {
  const read = v.safeParse(Wire, tryParseJson(Buffer.from(text, "base64url").toString()));
  if (!read.success) return undefined;
  const { key, oversize = false, ...rest } = read.output;
  return { ...rest, oversize, principal: key === undefined ? undefined : toPrincipal(key) };
}

function toPrincipal({ proof, ...key }: NonNullable<v.InferOutput<typeof Wire>["key"]>): Principal {
  return makePrincipal({ ...key, proof: Buffer.from(proof, "base64url") });
}
