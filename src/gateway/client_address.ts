/**
 * The client's address: the socket's address, or the address that trusted proxies report. `X-Forwarded-For` from other peers
 * is ignored. Similar headers are never read.
 *
 * @module
 */
import { BlockList, isIP, isIPv6 } from "node:net";
import { toPlainAddress } from "../std/client_network.ts";

export type ReadAddress = (socketAddress: string, headers: Headers) => string;

/** A reader that trusts the given proxies: addresses and networks such as `10.0.0.0/8`. */
export function makeReadAddress(trusted: readonly string[]): ReadAddress {
  if (trusted.length === 0) return toPlainAddress;
  const isTrusted = makeIsTrusted(trusted);
  return (socketAddress, headers) => {
    let address = toPlainAddress(socketAddress);
    const hops = (headers.get("x-forwarded-for") ?? "").split(",");
    // Each proxy appends the address it saw: the last hop that is not a trusted proxy is the client.
    while (isTrusted(address) && hops.length > 0) {
      const hop = toPlainAddress((hops.pop() ?? "").trim());
      if (isIP(hop) === 0) break;
      address = hop;
    }
    return address;
  };
}

/**
 * Whether the proxies cover all of IPv4 or IPv6, in one network or several: then any client can set its address with
 * `X-Forwarded-For`.
 */
export function trustsAllAddresses(trusted: readonly string[]): boolean {
  const isTrusted = makeIsTrusted(trusted);
  return [IPV4_SAMPLES, IPV6_SAMPLES].some((samples) => samples.every(isTrusted));
}

/** An address in each /8 of public IPv4, and in each /12 of allocated IPv6. */
const IPV4_SAMPLES = Array.from({ length: 223 }, (_, index) => `${index + 1}.51.100.7`);
const IPV6_SAMPLES = Array.from(
  { length: 512 },
  (_, index) => `${(0x2000 + index * 16).toString(16)}:db8::7`,
);

/** Whether a text is an address or network that {@linkcode makeReadAddress} accepts. */
export function isProxy(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
  );
}

function makeIsTrusted(trusted: readonly string[]): (address: string) => boolean {
  const proxies = new BlockList();
  const toFamily = (address: string) => (isIPv6(address) ? "ipv6" : "ipv4");
  for (const text of trusted) {
    const [address = "", bits] = text.split("/");
    if (bits === undefined) proxies.addAddress(address, toFamily(address));
    else proxies.addSubnet(address, Number(bits), toFamily(address));
  }
  return (address) => isIP(address) !== 0 && proxies.check(address, toFamily(address));
}
