/** Groups IP addresses into clients. @module */
import { isIPv4, isIPv6 } from "node:net";

/** Length of an IPv6 prefix in bits. Providers assign /64 to a link, /56 to a household and /48 to a site. */
export type PrefixLength = 64 | 56 | 48;

/**
 * The network that counts as one client: a single IPv4 address, or all IPv6 addresses with the same first `prefixLength`
 * bits. A subscriber has at least a /64, and could otherwise send every request from a new address. Returns other texts
 * unchanged.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6177
 * @example
 * ```ts
 * expect(toClientNetwork("192.0.2.1")).toBe("192.0.2.1");
 * expect(toClientNetwork("::ffff:192.0.2.1")).toBe("192.0.2.1");
 * expect(toClientNetwork("2001:db8:1:2ff::7")).toBe("2001:db8:1:2ff::/64");
 * expect(toClientNetwork("2001:db8:1:2ff::7", 56)).toBe("2001:db8:1:200::/56");
 * expect(toClientNetwork("2001:db8:1:2ff::7", 48)).toBe("2001:db8:1::/48");
 * ```
 */
export function toClientNetwork(address: string, prefixLength: PrefixLength = 64): string {
  const plain = toPlainAddress(address);
  if (!isIPv6(plain)) return plain;
  const stored = readGroups(plain).slice(0, Math.ceil(prefixLength / 16));
  if (prefixLength === 56) stored[3] = (stored[3] ?? 0) & 0xff00;
  return `${stored.map((group) => group.toString(16)).join(":")}::/${prefixLength}`;
}

/**
 * The one spelling of an address: IPv6 in lower case with the longest zeros as `::` and without a zone, and an IPv4-mapped IPv6
 * address as the IPv4 address. Returns other texts unchanged.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5952#section-4
 * @see https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2
 * @example
 * ```ts
 * expect(toPlainAddress("::ffff:192.0.2.1")).toBe("192.0.2.1");
 * expect(toPlainAddress("0:0:0:0:0:FFFF:c000:0201")).toBe("192.0.2.1");
 * expect(toPlainAddress("2001:0DB8:0:0::1")).toBe("2001:db8::1");
 * expect(toPlainAddress("fe80::1%eth0")).toBe("fe80::1");
 * ```
 */
export function toPlainAddress(address: string): string {
  if (!isIPv6(address)) return address;
  const groups = readGroups(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join(".");
  const text = groups.map((group) => group.toString(16)).join(":");
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

function readGroups(address: string): number[] {
  const [text = ""] = address.split("%"); // drops the zone, which names an interface of this host
  const [left = [], right = []] = text.split("::").map(readSide);
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => 0);
  return [...left, ...zeros, ...right];
}

/** The groups on one side of `::`; the last two may be written as an IPv4 address. */
function readSide(side: string): number[] {
  if (side === "") return [];
  return side.split(":").flatMap((group) => {
    if (!isIPv4(group)) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
