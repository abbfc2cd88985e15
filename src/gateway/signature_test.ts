import { describe, expect, test } from "bun:test";
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
  test.each([
    { name: "a signature with the first secret", claim: claimOf() },
    { name: "a signature with the second secret", claim: claimOf({}, { secret: OLD }) },
    {
      name: "a read without a nonce",
      claim: claimOf({ method: "GET", nonce: "", body: utf8.encode("") }),
    },
    {
      name: "a timestamp at the start of the window",
      claim: claimOf({ timestamp: String(NOW - WINDOW_MS) }),
    },
    {
      name: "a timestamp at the end of the window",
      claim: claimOf({ timestamp: String(NOW + WINDOW_MS) }),
    },
  ])("$name", ({ claim }) => {
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
  test.each([
    { name: "a missing signature", claim: claimOf({}, { signature: null }), reason: "unsigned" },
    {
      name: "an empty signature",
      claim: claimOf({}, { signature: "" }),
      reason: "signature differs",
    },
    {
      name: "another version",
      claim: claimOf({}, { signature: sign(NEW, GOOD).replace("v1", "v2") }),
      reason: "signature differs",
    },
    {
      name: "a truncated signature",
      claim: claimOf({}, { signature: sign(NEW, GOOD).slice(0, -2) }),
      reason: "signature differs",
    },
    {
      name: "an over-long signature",
      claim: claimOf({}, { signature: `${sign(NEW, GOOD)}00` }),
      reason: "signature differs",
    },
    {
      name: "an uppercase signature",
      claim: claimOf({}, { signature: sign(NEW, GOOD).toUpperCase() }),
      reason: "signature differs",
    },
    {
      name: "a foreign secret",
      claim: claimOf({}, { secret: FOREIGN }),
      reason: "signature differs",
    },
    {
      name: "another audience",
      claim: claimOf({ audience: "identity" }),
      reason: "signature differs",
    },
    {
      name: "another method",
      claim: claimOf({}, { change: { method: "PATCH" } }),
      reason: "signature differs",
    },
    {
      name: "a write presented as a read",
      claim: claimOf({}, { change: { method: "GET" } }),
      reason: "signature differs",
    },
    {
      name: "another path",
      claim: claimOf({}, { change: { target: "/v1/data/db/notes?a=1&b=2" } }),
      reason: "signature differs",
    },
    {
      name: "a reordered query",
      claim: claimOf({}, { change: { target: "/v1/data/db/todos?b=2&a=1" } }),
      reason: "signature differs",
    },
    {
      name: "a re-encoded path",
      claim: claimOf({}, { change: { target: "/v1/data/db/t%6Fdos?a=1&b=2" } }),
      reason: "signature differs",
    },
    {
      name: "a truncated query",
      claim: claimOf({}, { change: { target: "/v1/data/db/todos" } }),
      reason: "signature differs",
    },
    {
      name: "another body",
      claim: claimOf({}, { change: { body: utf8.encode('{"title":"Silk"}') } }),
      reason: "signature differs",
    },
    {
      name: "a body with other spacing",
      claim: claimOf({}, { change: { body: utf8.encode('{"title": "Milk"}') } }),
      reason: "signature differs",
    },
    {
      name: "a missing body",
      claim: claimOf({}, { change: { body: utf8.encode("") } }),
      reason: "signature differs",
    },
    {
      name: "another app's context",
      claim: claimOf({}, { change: { context: contextOf(OTHER_APP) } }),
      reason: "signature differs",
    },
    {
      name: "a changed timestamp",
      claim: claimOf({}, { change: { timestamp: String(NOW + 1) } }),
      reason: "signature differs",
    },
    {
      name: "another nonce",
      claim: claimOf({}, { change: { nonce: "m".repeat(22) } }),
      reason: "signature differs",
    },
    {
      name: "a stale timestamp",
      claim: claimOf({ timestamp: String(NOW - WINDOW_MS - 1) }),
      reason: "timestamp out of window",
    },
    {
      name: "a future timestamp",
      claim: claimOf({ timestamp: String(NOW + WINDOW_MS + 1) }),
      reason: "timestamp out of window",
    },
    {
      name: "a timestamp in another format",
      claim: claimOf({ timestamp: `+${NOW}` }),
      reason: "timestamp unreadable",
    },
    {
      name: "a timestamp in seconds",
      claim: claimOf({ timestamp: "1767225600" }),
      reason: "timestamp unreadable",
    },
    { name: "a write without a nonce", claim: claimOf({ nonce: "" }), reason: "nonce missing" },
    {
      name: "an invalid context",
      claim: claimOf({ context: "e30" }),
      reason: "context unreadable",
    },
  ])("$name", ({ claim, reason }) => {
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
