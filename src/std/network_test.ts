import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { drawRuns } from "../../test/support/tier.ts";
import { type PrefixLength, toClientNetwork, toPlainAddress } from "./client_network.ts";

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["::FFFF:a00:1", "10.0.0.1"],
  ["0:0:0:0:0:ffff:255.255.255.255", "255.255.255.255"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002::1", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:db8:1:2:3:ffff:192.0.2.1", "2001:db8:1:2::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::", "0:0:0:0::/64"],
  ["", ""],
  ["unknown", "unknown"],
  ["1.2.3.4:80", "1.2.3.4:80"],
  ["::ffff:999.0.0.1", "::ffff:999.0.0.1"],
])("toClientNetwork(%p) is %p", (address, want) => expect(toClientNetwork(address)).toBe(want));

test.each([
  [64, "2001:db8:1:2ff::/64"],
  [56, "2001:db8:1:200::/56"],
  [48, "2001:db8:1::/48"],
] as const)("toClientNetwork() by %p bits is %p", (prefixLength, want) => {
  expect(toClientNetwork("2001:db8:1:2ff:3:4:5:6", prefixLength)).toBe(want);
  expect(toClientNetwork("::ffff:192.0.2.1", prefixLength)).toBe("192.0.2.1");
});

const LENGTHS: PrefixLength[] = [64, 56, 48];
/** An IPv4 address in a browser's URL. `::ffff:1` is not an IPv4 address. */
const MAPPED = /^::ffff:[0-9a-f]+:[0-9a-f]+$/;

describe("toClientNetwork() groups", () => {
  const group = fc.integer({ min: 0, max: 0xffff });
  const groups = fc.tuple(group, group, group, group, group, group, group, group);

  test("two IPv6 addresses exactly if their first bits are equal", () => {
    fc.assert(
      fc.property(groups, fc.integer({ min: 0, max: 127 }), (one, bit) => {
        fc.pre(one[0] !== 0); // neither is mapped
        const other = one.with(bit >> 4, (one[bit >> 4] ?? 0) ^ (0x8000 >> (bit & 15)));
        fc.pre(other[0] !== 0);
        for (const length of LENGTHS) {
          const [a, b] = [one, other].map((all) => toClientNetwork(toText(all), length));
          expect(a === b).toBe(bit >= length);
        }
      }),
      drawRuns(1000),
    );
  });

  test("no two IPv4 addresses, mapped or unmapped", () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV4(), (one, other) => {
        for (const length of LENGTHS) {
          const [a, b] = [`::ffff:${one}`, `::ffff:${other}`].map((all) =>
            toClientNetwork(all, length),
          );
          expect(a === b).toBe(one === other);
          expect(a).toBe(toClientNetwork(one, length));
        }
      }),
      drawRuns(1000),
    );
  });

  test("two notations of an address, including the notation of a browser's URL", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        fc.pre(URL.canParse(`http://[${address}]/`)); // it rejects some that are valid
        const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
        for (const length of LENGTHS)
          expect(toClientNetwork(address, length)).toBe(toClientNetwork(canonical, length));
        expect(toPlainAddress(address).includes(":")).toBe(!MAPPED.test(canonical));
      }),
      { examples: [["::ffff:1"], ["::ffff:1:1"]] },
    );
  });
});

function toText(groups: number[]): string {
  return groups.map((group) => group.toString(16)).join(":");
}
