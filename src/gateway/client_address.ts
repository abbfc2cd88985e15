/**
 * The client's address: the socket's address, or the address that trusted proxies report. `X-Forwarded-For` from other peers
 * is ignored. Similar headers are never read.
 *
 * @module
 */
import { BlockList, isIP, isIPv6 } from "node:net";
import { toPlainAddress } from "../std/client_network.ts";

export type ReadAddress = (socketAddress: string, headers: Headers) => string;

/** Called with a sentence when a trusted proxy sends no address that this reader can use. */
type WarnOfProxy = (message: string) => void;

const UNREADABLE =
  "A trusted proxy sends an entry in X-Forwarded-For that is not an IP address: its callers share one address in limits";
const ONLY_FORWARDED =
  "A trusted proxy sends Forwarded, which is not read, and no X-Forwarded-For: its callers share one address in limits";

/** A reader that trusts the given proxies: addresses and networks such as `10.0.0.0/8`. */
export function makeReadAddress(trusted: readonly string[], warn?: WarnOfProxy): ReadAddress {
  if (trusted.length === 0) return toPlainAddress;
  const isTrusted = makeIsTrusted(trusted);
  return (socketAddress, headers) => {
    let address = toPlainAddress(socketAddress);
    const hops = splitHops(headers.get("x-forwarded-for") ?? "");
    if (hops.length === 0 && headers.has("forwarded") && isTrusted(address)) warn?.(ONLY_FORWARDED);
    // Each proxy appends the address it saw: the last hop that is not a trusted proxy is the client.
    while (isTrusted(address) && hops.length > 0) {
      const hop = readHop(hops.pop() ?? "");
      if (hop === undefined) {
        warn?.(UNREADABLE);
        break;
      }
      address = hop;
    }
    return address;
  };
}

function splitHops(header: string): string[] {
  return header
    .split(",")
    .map((hop) => hop.trim())
    .filter((hop) => hop !== "");
}

/** The forms of load balancers: quoted, with a port, and IPv6 in brackets with or without a port. */
const BRACKETED = /^\[([^[\]]+)\](?::\d{1,5})?$/;
const WITH_PORT = /^([\d.]+):\d{1,5}$/;

/** The address of a hop without port, brackets, quotes and zone. */
function readHop(hop: string): string | undefined {
  const text = hop.replace(/^"(.*)"$/, "$1").trim();
  const [, bracketed] = BRACKETED.exec(text) ?? [];
  const [, plain] = WITH_PORT.exec(text) ?? [];
  const [address = ""] = (bracketed ?? plain ?? text).split("%");
  if (bracketed !== undefined && !isIPv6(address)) return undefined;
  return isIP(address) === 0 ? undefined : toPlainAddress(address);
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
