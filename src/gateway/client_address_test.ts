import { expect, test } from "bun:test";
import { cases } from "../../test/support/cases.ts";
import { isProxy, makeReadAddress, trustsAllAddresses } from "./client_address.ts";

const PROXY = "10.0.0.1";
const TRUSTED = ["10.0.0.0/8", "::1", "2001:db8:1::/48"];

test.each([
  ...cases("name", "from", "forwarded", "want")`
  ignores the header of an untrusted client                | 203.0.113.9     | 1.2.3.4                        | 203.0.113.9
  returns the client of a trusted proxy                    | ${PROXY}        | 1.2.3.4                        | 1.2.3.4
  recognizes a proxy's IPv4 address on an IPv6 socket      | ::ffff:${PROXY} | 1.2.3.4                        | 1.2.3.4
  returns only the client that the nearest proxy saw       | ${PROXY}        | 9.9.9.9, 1.2.3.4               | 1.2.3.4
  skips two trusted proxies                                | ${PROXY}        | 9.9.9.9, 1.2.3.4, 10.9.9.9     | 1.2.3.4
  returns an IPv6 client                                   | ::1             | 2001:db8:2::7                  | 2001:db8:2::7
  trusts an IPv6 network                                   | 2001:db8:1::5   | 1.2.3.4                        | 1.2.3.4
  returns the proxy without a header                       | ${PROXY}        | (none)                         | ${PROXY}
  returns the proxy for an empty header                    | ${PROXY}        |                                | ${PROXY}
  returns the proxy for an invalid address                 | ${PROXY}        | unknown                        | ${PROXY}
  returns the proxy for a name                             | ${PROXY}        | 9.9.9.9, client.example.org:80 | ${PROXY}
  returns an empty address for a socket without an address |                 | 1.2.3.4
`,
  ...cases("forwarded", "want")`
    1.2.3.4:80                       | 1.2.3.4
    9.9.9.9, 1.2.3.4:50123           | 1.2.3.4
    "1.2.3.4"                        | 1.2.3.4
    "1.2.3.4:5007"                   | 1.2.3.4
    [2001:db8:2::7]                  | 2001:db8:2::7
    [2001:db8:2::7]:4711             | 2001:db8:2::7
    "[2001:db8:2::7]:4711"           | 2001:db8:2::7
    fe80::1%eth0                     | fe80::1
    [::ffff:1.2.3.4]:80              | 1.2.3.4
    1.2.3.4:80, 10.9.9.9:443         | 1.2.3.4
    2001:0DB8:0002::0:7              | 2001:db8:2::7
    2001:DB8:2:0:0:0:0:7             | 2001:db8:2::7
    [2001:db8:2::0.0.0.7]:4711       | 2001:db8:2::7
    2001:db8:0:0:1:0:0:1             | 2001:db8::1:0:0:1
    2001:db8:2:0:1:1:1:1             | 2001:db8:2:0:1:1:1:1
    FE80::1%eth0                     | fe80::1
    ::FFFF:1.2.3.4                   | 1.2.3.4
    0:0:0:0:0:ffff:0102:0304         | 1.2.3.4
    1.2.3.4,                         | 1.2.3.4
    [1.2.3.4]                        | ${PROXY}
    1.2.3.4:http                     | ${PROXY}
    1.2.3.4:80:80                    | ${PROXY}
    _hidden                          | ${PROXY}
    for=1.2.3.4                      | ${PROXY}
  `.map((row) => ({ ...row, name: `reads ${row.forwarded} as ${row.want}`, from: PROXY })),
])("readAddress() $name", ({ from, forwarded, want }) => {
  const headers = new Headers(forwarded === "(none)" ? {} : { "x-forwarded-for": forwarded });
  expect(makeReadAddress(TRUSTED)(from, headers)).toBe(want);
});

test.each([
  { headers: { "x-forwarded-for": "9.9.9.9, unknown" }, warns: "X-Forwarded-For" },
  { headers: { forwarded: "for=1.2.3.4" }, warns: "Forwarded, which is not read" },
  { headers: { forwarded: "for=1.2.3.4", "x-forwarded-for": "1.2.3.4" }, warns: undefined },
  { headers: { "x-forwarded-for": "unknown, 1.2.3.4:80" }, warns: undefined },
  { headers: {}, warns: undefined },
])("readAddress() warns of $headers: $warns", ({ headers, warns }) => {
  const warnings: string[] = [];
  const read = makeReadAddress(TRUSTED, (message) => warnings.push(message));
  read("203.0.113.9", new Headers({ "x-forwarded-for": "unknown", forwarded: "for=x" }));
  expect(warnings).toEqual([]);
  read(PROXY, new Headers(headers as Record<string, string>));
  expect(warnings).toEqual(warns === undefined ? [] : [expect.stringContaining(warns)]);
});

test.each([
  ["2001:DB8:0:0::7", "2001:db8::7"],
  ["FE80::1%eth0", "fe80::1"],
  ["::FFFF:1.2.3.4", "1.2.3.4"],
])("readAddress() writes the address %s of a connection as %s", (from, want) => {
  for (const trusted of [[], TRUSTED])
    expect(makeReadAddress(trusted)(from, new Headers())).toBe(want);
});

test("readAddress() trusts no proxy if none is listed", () => {
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

test.each([
  { proxies: ["0.0.0.0/0"], want: true },
  { proxies: ["::/0"], want: true },
  { proxies: ["::ffff:0:0/96"], want: true },
  { proxies: ["10.0.0.0/8", "0.0.0.0/1", "128.0.0.0/1"], want: true },
  { proxies: ["2000::/4", "3000::/4"], want: true },
  { proxies: ["0.0.0.0/1", "128.0.0.0/2"], want: false },
  { proxies: ["0.0.0.0/1", "2000::/4"], want: false },
  { proxies: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"], want: false },
  { proxies: [], want: false },
])("trustsAllAddresses() of $proxies is $want", ({ proxies, want }) => {
  expect(trustsAllAddresses(proxies)).toBe(want);
});
