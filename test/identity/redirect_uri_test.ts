import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readRedirectUri } from "../../src/identity/authorize_query.ts";
import { readTarget } from "../../src/records/apps/mod.ts";
import { REDIRECT_CASES, REDIRECT_TARGETS } from "../support/redirect_cases.ts";
import { drawRuns } from "../support/tier.ts";

const targets = [
  ...REDIRECT_TARGETS.origins.map((url) => readTarget("origin", url, "example.org")),
  ...REDIRECT_TARGETS.redirects.map((url) => readTarget("redirect", url, "example.org")),
];

test("the table has accepted and rejected addresses", () => {
  expect(REDIRECT_CASES.filter((one) => one.isAllowed).length).toBeGreaterThan(5);
  expect(REDIRECT_CASES.filter((one) => !one.isAllowed).length).toBeGreaterThan(60);
});

describe("readRedirectUri()", () => {
  test.each(REDIRECT_CASES.map((one) => [JSON.stringify(one.text), one] as const))(
    "checks %s",
    (_, { text, isAllowed }) => {
      expect(readRedirectUri(text, targets)).toBe(isAllowed ? new URL(text).href : undefined);
    },
  );

  test.each([
    { text: "https://wiki.example.org", want: "https://wiki.example.org/" },
    { text: "https://wiki.example.org?x=1", want: "https://wiki.example.org/?x=1" },
    { text: "https://wiki.example.org/a/", want: "https://wiki.example.org/a/" },
    { text: "https://wiki.example.org/a;b=c/d", want: "https://wiki.example.org/a;b=c/d" },
    { text: "https://wiki.example.org/%61", want: "https://wiki.example.org/%61" },
    { text: "https://wiki.example.org/a/..;/b", want: undefined },
    { text: "https://wiki.example.org/a/.%2e;x/b", want: undefined },
    { text: "https://wiki.example.org/a/..%3b/b", want: undefined },
    { text: "https://wiki.example.org/a/.%3Bx/b", want: undefined },
    { text: "https://wiki.example.org/a/%2E/b", want: undefined },
    { text: "https://wiki.example.org/%252e%252e/b", want: undefined },
    { text: "https://WIKI.example.org/", want: undefined },
    { text: "HTTPS://wiki.example.org/", want: undefined },
    { text: "https://wiki.example.org/a{b}", want: undefined },
    { text: "https://wiki.example.org/a|b", want: undefined },
    { text: 'https://wiki.example.org/"', want: undefined },
    { text: "https://wiki.example.org/<b>", want: undefined },
    { text: "https://wiki.example.org/`", want: undefined },
    { text: "https://wiki.example.org/^", want: undefined },
    {
      text: `https://wiki.example.org/${"a".repeat(2048 - 25)}`,
      want: `https://wiki.example.org/${"a".repeat(2048 - 25)}`,
    },
    { text: `https://wiki.example.org/${"a".repeat(2048 - 24)}`, want: undefined },
  ])("returns $want for $text", ({ text, want }) =>
    expect(readRedirectUri(text, targets)).toBe(want),
  );

  test("accepts an http target only in the dev format", () => {
    const dev = [readTarget("origin", "http://todo.rowhouse.localhost:5173", "rowhouse.localhost")];
    expect(readRedirectUri("http://todo.rowhouse.localhost:5173/a", dev)).toBe(
      "http://todo.rowhouse.localhost:5173/a",
    );
    expect(readRedirectUri("https://todo.rowhouse.localhost:5173/a", dev)).toBeUndefined();
    expect(readRedirectUri("http://todo.rowhouse.localhost/a", dev)).toBeUndefined();
    expect(readRedirectUri("http://localhost:5173/a", dev)).toBeUndefined();
  });
});

describe("a target cannot be registered that sign-in always rejects", () => {
  const HOST = "https://app.example.org";
  test.each([
    { kind: "redirect", url: `${HOST}/50%25` },
    { kind: "redirect", url: `${HOST}/a%2Fb` },
    { kind: "redirect", url: `${HOST}//b` },
    { kind: "redirect", url: `${HOST}/a|b` },
    { kind: "redirect", url: `${HOST}/a/..;x` },
    { kind: "redirect", url: `${HOST}/${"a".repeat(2048)}` },
    { kind: "origin", url: "https://a..example.org" },
    { kind: "origin", url: "https://.example.org" },
  ] as const)("$kind $url", ({ kind, url }) => {
    const { origin } = new URL(url);
    expect(readRedirectUri(url, [{ kind, url, origin }])).toBeUndefined();
    expect(() => readTarget(kind, url, "example.org")).toThrow("sign-in cannot return to it");
  });
});

test("every parser resolves an accepted address to a registered target", () => {
  const pieces = fc.constantFrom(
    ..."https:// http:// // / \\ @ : ? # % .. . ;".split(" "),
    ..."%2e %2f %5c %00 \t \n app.example.org wiki.example.org evil.example callback port.example.org:8443 cb :443 :80".split(
      " ",
    ),
    " ",
    "a",
    "а",
  );
  const texts = fc.oneof(
    fc.array(pieces, { maxLength: 9 }).map((parts) => parts.join("")),
    fc.array(pieces, { maxLength: 6 }).map((parts) => `https://wiki.example.org/${parts.join("")}`),
    fc.array(pieces, { maxLength: 6 }).map((parts) => `https://app.example.org${parts.join("")}`),
    fc.domain().map((host) => `https://${host}/a?b#c`),
    fc.string(),
  );
  let allowed = 0;
  fc.assert(
    fc.property(texts, (text) => {
      const href = readRedirectUri(text, targets);
      if (href === undefined) return;
      allowed++;
      const url = new URL(href);
      expect(url.href).toBe(href);
      expect([url.username, url.password]).toEqual(["", ""]);
      // Many servers read a URL by hand, up to the first delimiter.
      expect(/^https:\/\/([^/?#\\@]*)/.exec(text)?.[1]?.replace(/:443$/, "")).toBe(url.host);
      expect(
        url.origin === "https://wiki.example.org" ||
          REDIRECT_TARGETS.redirects.includes(url.origin + url.pathname),
      ).toBe(true);
    }),
    drawRuns(20_000),
  );
  expect(allowed).toBeGreaterThan(100);
});
