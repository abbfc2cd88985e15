/** The WebAuthn relying party: the host of the pages. @module */
import { isIP } from "node:net";
import type { IdentitySettings } from "./settings.ts";

export type RelyingParty = {
  /** The exact origin of the pages. */
  origin: string;
  /** The host without the port. Browsers bind passkeys to it. */
  id: string;
};

/** `undefined` where browsers do not support passkeys: on an IP address, and over http except on localhost. */
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
