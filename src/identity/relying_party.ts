/** For which host passkeys are: that of the pages, and no other. @module */
import { isIP } from "node:net";
import type { IdentitySettings } from "./settings.ts";

export type RelyingParty = {
  /** Of the pages, exactly. */
  origin: string;
  /** Its host without the port, to which browsers bind a passkey. */
  id: string;
};

/** `undefined` where browsers offer no passkeys: on an IP address, and over http anywhere but on this machine. */
export function findRelyingParty({
  identityUrl,
  publicUrl,
}: Pick<IdentitySettings, "identityUrl" | "publicUrl">): RelyingParty | undefined {
  const own = identityUrl ?? publicUrl;
  if (own === undefined) return undefined;
  const { origin, protocol, hostname } = new URL(own);
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  const isAddress = isIP(hostname) !== 0 || hostname.startsWith("[");
  return isAddress || (protocol !== "https:" && !isLocal) ? undefined : { origin, id: hostname };
}
