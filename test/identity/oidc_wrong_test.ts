/** Wrong responses of a provider, and attacks with its responses: each ends on a page and signs no one in. */
import { beforeEach, describe, expect, test } from "bun:test";
import { IDENTITY_COOKIE, SESSION_COOKIE } from "../../src/identity/mod.ts";
import { STATE_COOKIE } from "../../src/identity/oidc/exchange.ts";
import { casesBy } from "../support/cases.ts";
import { expectPage } from "../support/page_text.ts";
import { type Jar, visit } from "../support/people.ts";
import { startProvider, type TestProvider, type Wrong } from "../support/provider.ts";
import { comeBack, invite, signInWith } from "../support/provider_people.ts";
import { openTestService, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

const LOGIN = "ada";
/** Providers that are always unavailable, by the reason. */
const NEVER_THERE: Record<string, Wrong> = {
  failing: { endpoint: { path: "openid-configuration", status: 500 } },
  silent: { endpoint: { path: "openid-configuration", status: "never" } },
  foreign: { metadata: { issuer: "https://id.example.com" } },
  keyless: { metadata: { jwks_uri: undefined } },
};
const away = new Map<string, TestProvider>();
for (const [name, wrong] of Object.entries(NEVER_THERE)) {
  const provider = await share(startProvider({ name }));
  provider.wrong = wrong;
  away.set(name, provider);
}
const ours = await share(startProvider({ name: "ours", trustedDomains: ["example.org"] }));
const other = await share(startProvider({ name: "other" }));
const service = await share(
  openTestService({
    identity: (port) => ({
      publicUrl: `http://127.0.0.1:${port}`,
      providers: everyProvider().map(({ settings }) => settings),
      providerTimeoutS: 2,
    }),
  }),
);
for (const one of everyProvider()) {
  one.register(`${service.url}/oidc/${one.settings.name}/callback`);
  service.secrets.add(one.settings.clientSecret);
}
const person = await invite(service);
ours.accounts.set(LOGIN, { email: person.email, email_verified: true });
await signInWith(service, new Map(), { login: LOGIN });
beforeEach(() => {
  ours.wrong = undefined;
  other.wrong = undefined;
});
const nowS = () => Math.floor(Date.now() / 1000);
const later = (claims: Record<string, unknown>, seconds: number) => ({
  ...claims,
  iat: Number(claims["iat"]) + seconds,
  exp: Number(claims["exp"]) + seconds,
});

describe("the service rejects a token", () => {
  /** The provider's claims with some replaced. */
  const having = (more: object): Wrong => ({ claims: (claims) => ({ ...claims, ...more }) });
  test.each(
    casesBy<Wrong>({
      OAUTH_JWT_CLAIM_COMPARISON_FAILED: {
        "of another issuer": having({ iss: other.settings.issuer }),
        "for another audience": having({ aud: "wiki" }),
        "for several audiences, requested by another": having({
          ...{ aud: ["rowhouse", "wiki"], azp: "wiki" },
        }),
        "with another nonce": having({ nonce: "n".repeat(43) }),
      },
      OAUTH_INVALID_RESPONSE: {
        "without a nonce": having({ nonce: undefined }),
        "signed with another key that has the id of the published key": {
          signature: "same id, other key",
        },
        "without a signature": { signature: "none" },
        "without a subject": having({ sub: undefined }),
        "with a number as the subject": having({ sub: 1 }),
        "with a text as the sign-in time": having({ auth_time: "1" }),
        "with a negative sign-in time": having({ auth_time: -1e300 }),
      },
      OAUTH_JWT_TIMESTAMP_CHECK_FAILED: {
        "that has expired": having({ exp: nowS() - 61 }),
        "valid for five minutes, with a clock five minutes behind": {
          claims: (claims) => ({ ...later(claims, -300), exp: nowS() - 300 + 200 }),
        },
      },
      "issued in the future": {
        "with a clock five minutes ahead": { claims: (claims) => later(claims, 300) },
      },
      OAUTH_KEY_SELECTION_FAILED: {
        "signed with an unpublished key": { signature: "unknown key" },
      },
      "sub is not 1 to 255 printable ASCII characters": {
        "with an empty subject": having({ sub: "" }),
        "with a subject of 256 characters": having({ sub: "s".repeat(256) }),
        "with a subject with U+0000": having({ sub: "ada\u0000" }),
        "with a subject with a line break": having({ sub: "ada\n" }),
        "with a subject with U+007F": having({ sub: "ada\u007f" }),
        "with a subject beyond ASCII": having({ sub: "adä" }),
        "with a subject with an unpaired surrogate": having({ sub: "\ud800" }),
      },
      "auth_time in the future": {
        "with a distant sign-in time": having({ auth_time: 1e300 }),
        "with a sign-in in an hour": having({ auth_time: nowS() + 3600 }),
      },
    }),
  )("$name", async ({ value: wrong, expected: reason }) => {
    ours.wrong = wrong;
    const jar: Jar = new Map();
    const response = await signInWith(service, jar, { login: LOGIN });
    expectPage(response, 403, "could not be verified", 'href="/login"');
    expectNobody(jar);
    expect(jar.has(STATE_COOKIE)).toBe(false);
    expect(await lastEvent()).toBe(`sign_in_rejected ours ${reason}`);
  });

  test.each([{ sub: "x" }, { sub: `a b~${"s".repeat(251)}` }])(
    "but accepts a subject of $sub",
    async ({ sub }) => {
      ours.wrong = { claims: (claims) => ({ ...claims, sub }) };
      const response = await signInWith(service, new Map(), { login: LOGIN });
      expect(response.status).toBe(403);
      expect(response.text).not.toContain("could not be verified");
      expect(await lastEvent()).toBe("sign_in_rejected ours unlinked");
    },
  );

  test("but accepts half a minute between the clocks", async () => {
    ours.wrong = { claims: (claims) => ({ ...later(claims, 30), exp: nowS() - 30 }) };
    expect((await signInWith(service, new Map(), { login: LOGIN })).status).toBe(303);
  });
});

describe("the service rejects a response of the provider", () => {
  const change = (path: string, name: string, value: string | undefined) => {
    const url = new URL(path, service.url);
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
    return url.pathname + url.search;
  };
  const EXPIRED = "400, Sign-in expired";
  const WRONG = "403, could not be verified";
  test.each(
    casesBy<(path: string) => string>({
      [EXPIRED]: {
        "with another state": (path) => change(path, "state", "s".repeat(43)),
        "without a state": (path) => change(path, "state", undefined),
        "with two states": (path) => `${path}&state=x`,
        "at another provider's address (mix-up)": (path) => path.replace("/ours/", "/other/"),
      },
      [`${WRONG}, OAUTH_INVALID_RESPONSE`]: {
        "from another issuer": (path) => change(path, "iss", other.settings.issuer),
        "without an issuer, if the provider normally sends an issuer": (path) =>
          change(path, "iss", undefined),
      },
      [`${WRONG}, invalid_grant`]: {
        "with a code that the provider did not issue": (path) =>
          change(path, "code", "c".repeat(43)),
      },
      "403, The sign-in was canceled, access_denied": {
        "after the person declined": (path) =>
          change(change(path, "code", undefined), "error", "access_denied") +
          "&error_description=%3Cscript%3E",
      },
    }),
  )("$name", async ({ value: toPath, expected }) => {
    const [status, says = "", reason] = expected.split(", ");
    const jar: Jar = new Map();
    const path = await comeBack(service, jar, { login: LOGIN });
    const response = await visit(service, jar, toPath(path));
    expectPage(response, Number(status), says);
    expect(response.text).not.toContain("<script>");
    expectNobody(jar);
    if (reason !== undefined) expect(await lastEvent()).toBe(`sign_in_rejected ours ${reason}`);
  });

  test("in a browser that did not start the sign-in", async () => {
    const path = await comeBack(service, new Map(), { login: LOGIN });
    const jar: Jar = new Map();
    expect((await visit(service, jar, path)).status).toBe(400);
    await visit(service, jar, "/oidc/ours");
    expect((await visit(service, jar, path)).status).toBe(400);
    expectNobody(jar);
  });

  test("that is repeated, even with the first cookie", async () => {
    const jar: Jar = new Map();
    const path = await comeBack(service, jar, { login: LOGIN });
    const kept = new Map(jar);
    expect((await visit(service, jar, path)).status).toBe(303);
    const asked = ours.asked.get("token");
    const again = await visit(service, kept, path);
    expect([again.status, ours.asked.get("token")]).toEqual([400, asked]);
    expectNobody(kept);
  });

  test("with a truncated, forged or repeated cookie", async () => {
    for (const make of [
      (value: string) => value.slice(0, -2),
      (value: string) => `${value.startsWith("A") ? "B" : "A"}${value.slice(1)}`,
      () => "x",
      (value: string) => `${value}; ${STATE_COOKIE}=${value}`,
    ]) {
      const jar: Jar = new Map();
      const path = await comeBack(service, jar, { login: LOGIN });
      jar.set(STATE_COOKIE, make(jar.get(STATE_COOKIE) ?? ""));
      expect((await visit(service, jar, path)).status).toBe(400);
      expectNobody(jar);
    }
  });
});

test("a replaced key of the provider is fetched immediately", async () => {
  await signInWith(service, new Map(), { login: LOGIN });
  const asked = ours.asked.get("jwks") ?? 0;
  await signInWith(service, new Map(), { login: LOGIN });
  expect(ours.asked.get("jwks")).toBe(asked);
  await ours.rotateKey();
  // Signed by the provider's new key.
  ours.wrong = { claims: (claims) => claims };
  expect((await signInWith(service, new Map(), { login: LOGIN })).status).toBe(303);
  expect(ours.asked.get("jwks")).toBe(asked + 1);
});

describe("an unavailable provider", () => {
  const expectAway = (response: TestResponse, name = "ours") => {
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("5");
    expect(response.text).toContain(`${name} is not responding`);
  };
  test.each<{ name: string; endpoint: NonNullable<Wrong["endpoint"]> }>([
    { name: "returns an error instead of a token", endpoint: { path: "token", status: 500 } },
    { name: "never returns a token", endpoint: { path: "token", status: "never" } },
  ])("$name", async ({ endpoint }) => {
    const jar: Jar = new Map();
    const path = await comeBack(service, jar, { login: LOGIN });
    ours.wrong = { endpoint };
    expectAway(await visit(service, jar, path));
    expectNobody(jar);
  });

  test.each(Object.keys(NEVER_THERE))("blocks no other sign-in while it is %s", async (name) => {
    const asked = () => away.get(name)?.asked.get("openid-configuration") ?? 0;
    const starts = [1, 2, 3].map(() => visit(service, new Map(), `/oidc/${name}`));
    expect((await service.call(undefined, "/login")).status).toBe(200);
    for (const response of await Promise.all(starts)) expectAway(response, name);
    expectAway(await visit(service, new Map(), `/oidc/${name}`), name);
    expect(asked()).toBe(1);
    expect(service.log.some((line) => line.includes(`discovery of ${name}`))).toBe(true);
  });
});

test("attempts are counted by client, and above the limit no request reaches the provider", async () => {
  const attempt = async () => {
    const jar: Jar = new Map();
    const start = await visit(service, jar, "/oidc/ours");
    const state = new URL(start.headers.get("location") ?? "").searchParams.get("state");
    return await visit(service, jar, `/oidc/ours/callback?error=access_denied&state=${state}`);
  };
  let [response, count] = [await attempt(), 1];
  for (; response.status === 403 && count <= 60; count++) response = await attempt();
  expect(response.status).toBe(429);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(800);
  expect(response.text).toMatch(/Please wait 1[45] minutes, until <time datetime="[^"]+">/);
  expect(response.text).toContain("sign in another way");
  expect(count).toBeGreaterThan(10);
});

function everyProvider(): TestProvider[] {
  return [ours, other, ...away.values()];
}

function expectNobody(jar: Jar): void {
  expect([SESSION_COOKIE, IDENTITY_COOKIE].filter((name) => jar.has(name))).toEqual([]);
}

async function lastEvent(): Promise<string | undefined> {
  const [row] = await service.query<{
    event: string;
  }>(`select concat_ws(' ', action, details ->> 'provider', details ->> 'reason') as event
    from rowhouse.audit order by id desc limit 1`);
  return row?.event;
}
