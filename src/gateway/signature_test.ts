import { describe, expect, test } from "bun:test";
import { casesBy } from "../../test/support/cases.ts";
import { makePrincipal } from "../principal.ts";
import { makeNonces } from "./nonces.ts";
import { SIGNED_HEADERS, type Signed, sign } from "./signature.ts";
import { writeSignedContext } from "./signed_context.ts";
import { type Claim, makeVerify, type VerifyOptions, WINDOW_MS } from "./verify.ts";

const OLD = "an old secret, 32 bytes or more: oooooo";
const NEW = "a new secret, 32 bytes or more: nnnnnnn";
const FOREIGN = "a secret of another service, 32 bytes: f";
const NOW = 1_767_225_600_000;
const utf8 = new TextEncoder();

test("sign() returns the vector of the documentation", () => {
  const signed: Signed = {
    audience: "data",
    method: "POST",
    target: "/v1/data/db/todos?x=1",
    timestamp: "1767225600000",
    nonce: "bm9uY2Utbm9uY2Utbm9uYw",
    body: utf8.encode('{"title":"Milk"}'),
    context: "e30",
  };
  expect(sign("0123456789abcdef0123456789abcdef", signed)).toBe(
    "v1=57f057a67f0d93b261c0772063e917f52bf89ba79db7580e8746b90085810793",
  );
});

const APP = "0190a0a0-0000-7000-8000-000000000001";
const OTHER_APP = "0190a0a0-0000-7000-8000-000000000002";

function contextOf(appId: string): string {
  const principal = makePrincipal({
    appId,
    keyId: "k".repeat(16),
    scopes: ["data:read"],
    proof: new Uint8Array(32),
  });
  return writeSignedContext({
    requestId: "r",
    address: "",
    virtualHost: "gateway",
    principal,
    oversize: false,
  });
}

const GOOD: Signed = {
  audience: "data",
  method: "POST",
  target: "/v1/data/db/todos?a=1&b=2",
  timestamp: String(NOW),
  nonce: "n".repeat(22),
  body: utf8.encode('{"title":"Milk"}'),
  context: contextOf(APP),
};

/** Returns a received claim: signed with `secret`, then modified by `change`. */
function claimOf(
  signed: Partial<Signed> = {},
  options: { secret?: string; change?: Partial<Signed>; signature?: string | null } = {},
): Claim {
  const claimed = { ...GOOD, ...signed };
  const sent = { ...claimed, ...options.change };
  const headers = new Headers({
    [SIGNED_HEADERS.timestamp]: sent.timestamp,
    [SIGNED_HEADERS.nonce]: sent.nonce,
    [SIGNED_HEADERS.context]: sent.context,
  });
  const signature =
    options.signature === undefined ? sign(options.secret ?? NEW, claimed) : options.signature;
  if (signature !== null) headers.set(SIGNED_HEADERS.signature, signature);
  return { method: sent.method, target: sent.target, headers, body: sent.body };
}

function open(options: Partial<VerifyOptions> = {}) {
  return makeVerify({ audience: "data", secrets: [NEW, OLD], now: () => NOW, ...options });
}

describe("verify() accepts", () => {
  test.each(
    Object.entries({
      "a signature with the first secret": claimOf(),
      "a signature with the second secret": claimOf({}, { secret: OLD }),
      "a read without a nonce": claimOf({ method: "GET", nonce: "", body: utf8.encode("") }),
      "a timestamp at the start of the window": claimOf({ timestamp: String(NOW - WINDOW_MS) }),
      "a timestamp at the end of the window": claimOf({ timestamp: String(NOW + WINDOW_MS) }),
    }).map(([name, claim]) => ({ name, claim })),
  )("$name", ({ claim }) => {
    const result = open()(claim);
    expect("context" in result ? result.context.principal?.appId : result.reason).toBe(APP);
  });

  test("a repeated read, because a read changes nothing", () => {
    const verify = open();
    const claim = claimOf({ method: "GET", nonce: "", body: utf8.encode("") });
    expect([verify(claim), verify(claim)].map((result) => "context" in result)).toEqual([
      true,
      true,
    ]);
  });
});

describe("verify() rejects", () => {
  test.each(
    casesBy({
      unsigned: {
        "a missing signature": claimOf({}, { signature: null }),
      },
      "signature differs": {
        "an empty signature": claimOf({}, { signature: "" }),
        "another version": claimOf({}, { signature: sign(NEW, GOOD).replace("v1", "v2") }),
        "a truncated signature": claimOf({}, { signature: sign(NEW, GOOD).slice(0, -2) }),
        "an over-long signature": claimOf({}, { signature: `${sign(NEW, GOOD)}00` }),
        "an uppercase signature": claimOf({}, { signature: sign(NEW, GOOD).toUpperCase() }),
        "a foreign secret": claimOf({}, { secret: FOREIGN }),
        "another audience": claimOf({ audience: "identity" }),
        "another method": claimOf({}, { change: { method: "PATCH" } }),
        "a write presented as a read": claimOf({}, { change: { method: "GET" } }),
        "another path": claimOf({}, { change: { target: "/v1/data/db/notes?a=1&b=2" } }),
        "a reordered query": claimOf({}, { change: { target: "/v1/data/db/todos?b=2&a=1" } }),
        "a re-encoded path": claimOf({}, { change: { target: "/v1/data/db/t%6Fdos?a=1&b=2" } }),
        "a truncated query": claimOf({}, { change: { target: "/v1/data/db/todos" } }),
        "another body": claimOf({}, { change: { body: utf8.encode('{"title":"Silk"}') } }),
        "a body with other spacing": claimOf(
          {},
          { change: { body: utf8.encode('{"title": "Milk"}') } },
        ),
        "a missing body": claimOf({}, { change: { body: utf8.encode("") } }),
        "another app's context": claimOf({}, { change: { context: contextOf(OTHER_APP) } }),
        "a changed timestamp": claimOf({}, { change: { timestamp: String(NOW + 1) } }),
        "another nonce": claimOf({}, { change: { nonce: "m".repeat(22) } }),
      },
      "timestamp out of window": {
        "a stale timestamp": claimOf({ timestamp: String(NOW - WINDOW_MS - 1) }),
        "a future timestamp": claimOf({ timestamp: String(NOW + WINDOW_MS + 1) }),
      },
      "timestamp unreadable": {
        "a timestamp in another format": claimOf({ timestamp: `+${NOW}` }),
        "a timestamp in seconds": claimOf({ timestamp: "1767225600" }),
      },
      "nonce missing": {
        "a write without a nonce": claimOf({ nonce: "" }),
      },
      "context unreadable": {
        "an invalid context": claimOf({ context: "e30" }),
      },
    }),
  )("$name", ({ value: claim, expected: reason }) => {
    expect(open()(claim)).toEqual({ reason });
  });

  test("a replayed write while its timestamp is valid", () => {
    let now = NOW;
    const verify = open({ now: () => now });
    const claim = claimOf({ timestamp: String(NOW + WINDOW_MS) });
    expect("context" in verify(claim)).toBe(true);
    const later = [0, WINDOW_MS, 2 * WINDOW_MS].map((ms) => {
      now = NOW + ms;
      return verify(claim);
    });
    expect(later).toEqual(later.map(() => ({ reason: "nonce used" })));
    now = NOW + 2 * WINDOW_MS + 1;
    expect(verify(claim)).toEqual({ reason: "timestamp out of window" });
  });

  test("a forged request without using up its nonce", () => {
    const verify = open();
    expect(verify(claimOf({}, { secret: FOREIGN }))).toEqual({ reason: "signature differs" });
    expect("context" in verify(claimOf())).toBe(true); // the forgery did not use up the nonce
  });
});

describe("makeNonces()", () => {
  test("rejects nonces when it is full, and accepts nonces again later", () => {
    let now = NOW;
    const nonces = makeNonces({ now: () => now, windowMs: 60_000, maxNonces: 3 });
    const uses = ["a", "b", "c", "d", "a"].map((nonce) => nonces.use(nonce, now));
    expect(uses).toEqual(["new", "new", "new", "full", "used"]);
    now += 80_000;
    expect(nonces.use("d", now)).toBe("new");
  });
});
