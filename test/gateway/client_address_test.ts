import { expect, test } from "bun:test";
import { isProxy, makeReadAddress } from "../../src/gateway/client_address.ts";

const PROXY = "10.0.0.1";
const TRUSTED = ["10.0.0.0/8", "::1", "2001:db8:1::/48"];

test.each([
  {
    name: "a stranger's claim is not read",
    from: "203.0.113.9",
    forwarded: "1.2.3.4",
    want: "203.0.113.9",
  },
  { name: "a proxy's word counts", from: PROXY, forwarded: "1.2.3.4", want: "1.2.3.4" },
  {
    name: "an IPv4 address on an IPv6 socket is the same proxy",
    from: `::ffff:${PROXY}`,
    forwarded: "1.2.3.4",
    want: "1.2.3.4",
  },
  {
    name: "only what the nearest proxy saw counts",
    from: PROXY,
    forwarded: "9.9.9.9, 1.2.3.4",
    want: "1.2.3.4",
  },
  {
    name: "two proxies of ours are passed over",
    from: PROXY,
    forwarded: "9.9.9.9, 1.2.3.4, 10.9.9.9",
    want: "1.2.3.4",
  },
  { name: "an IPv6 client", from: "::1", forwarded: "2001:db8:2::7", want: "2001:db8:2::7" },
  { name: "a trusted IPv6 network", from: "2001:db8:1::5", forwarded: "1.2.3.4", want: "1.2.3.4" },
  { name: "no header", from: PROXY, forwarded: undefined, want: PROXY },
  { name: "an empty header", from: PROXY, forwarded: "", want: PROXY },
  { name: "what is no address", from: PROXY, forwarded: "unknown", want: PROXY },
  { name: "an address with a port", from: PROXY, forwarded: "1.2.3.4:80", want: PROXY },
  { name: "a socket without an address", from: "", forwarded: "1.2.3.4", want: "" },
])("readAddress(): $name", ({ from, forwarded, want }) => {
  const headers = new Headers(forwarded === undefined ? {} : { "x-forwarded-for": forwarded });
  expect(makeReadAddress(TRUSTED)(from, headers)).toBe(want);
});

test("readAddress() trusts nobody if nobody is listed", () => {
  const headers = new Headers({ "x-forwarded-for": "1.2.3.4" });
  expect(makeReadAddress([])("::ffff:10.0.0.1", headers)).toBe("10.0.0.1");
});

test.each([
  ["10.0.0.1", true],
  ["10.0.0.0/8", true],
  ["::1", true],
  ["fd00::/8", true],
  ["10.0.0.0/33", false],
  ["fd00::/129", false],
  ["10.0.0.0/", false],
  ["10.0.0.0/8/8", false],
  ["proxy.example.org", false],
  ["", false],
] as const)("isProxy(%p) is %p", (text, want) => expect(isProxy(text)).toBe(want));
