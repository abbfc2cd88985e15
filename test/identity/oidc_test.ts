/** Sign-in with a real OpenID Connect provider: who can sign in, as which person, and the page after it. */
import { beforeEach, describe, expect, test } from "bun:test";
import { DEVICE_COOKIE, IDENTITY_COOKIE, SESSION_COOKIE } from "../../src/identity/mod.ts";
import { setDisabled } from "../../src/records/people/mod.ts";
import { PROVIDER_STATE_LIFE_S } from "../../src/std/limits.ts";
import { listEvents } from "../support/audit_events.ts";
import { expectPage, expectRedirect } from "../support/page_text.ts";
import {
  type Jar,
  keepCookies,
  makePerson,
  readMe,
  sharedCookie,
  visit,
} from "../support/people.ts";
import { startProvider } from "../support/provider.ts";
import { invite, signInWith } from "../support/provider_people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const BACK = "https://wiki.example.org/page?x=1";

const ours = await share(
  startProvider({ name: "ours", label: "<Ours>", trustedDomains: ["example.org"] }),
);
const other = await share(
  startProvider({ name: "other", trustedDomains: ["example.com", "example.org"], creates: true }),
);
const service = await share(
  openTestService({
    identity: (port) => ({
      publicUrl: `http://127.0.0.1:${port}`,
      providers: [ours.settings, other.settings],
      providerTimeoutS: 2,
    }),
  }),
);
for (const one of [ours, other]) {
  one.register(`${service.url}/oidc/${one.settings.name}/callback`);
  service.secrets.add(one.settings.clientSecret);
}
await service.makeApp(undefined, { slug: "wiki", origins: ["https://wiki.example.org"] });
beforeEach(() => {
  ours.wrong = undefined;
  other.wrong = undefined;
});

const isSignedIn = (jar: Jar) => jar.has(SESSION_COOKIE) || jar.has(IDENTITY_COOKIE);

test("the sign-in page has a link for each provider, with the return address", async () => {
  const query = `?app=wiki&redirect_uri=${encodeURIComponent(BACK)}`;
  const page = await service.call(undefined, `/authorize${query}`);
  expect(page.text).toContain("Sign in with <bdi>&lt;Ours&gt;</bdi>");
  expect(page.text).toContain(`href="/oidc/ours${query.replaceAll("&", "&amp;")}"`);
  expect((await service.call(undefined, "/login")).text).toContain('href="/oidc/other"');
});

test("an invited person is linked at the first sign-in, and later sign-ins reach the same person", async () => {
  const person = await invite(service, "wiki");
  ours.accounts.set("sub-1", { email: person.email, email_verified: true });
  const jar: Jar = new Map();
  const first = await signInWith(service, jar, {
    login: "sub-1",
    path: `/oidc/ours?app=wiki&redirect_uri=${encodeURIComponent(BACK)}`,
  });
  expectRedirect(first, BACK);
  expect([...jar.keys()].sort()).toEqual([DEVICE_COOKIE, IDENTITY_COOKIE, SESSION_COOKIE].sort());
  const me = await readMe(service, jar, "wiki");
  expect(me.json).toMatchObject({ id: person.id, email: person.email, role: "member" });
  // The address no longer counts, even if it belongs to another person.
  const somebody = await makePerson(service);
  ours.accounts.set("sub-1", { email: somebody.email, email_verified: true });
  const again: Jar = new Map();
  expect((await signInWith(service, again, { login: "sub-1" })).status).toBe(303);
  expect((await visit(service, again, "/login")).text).toContain(person.email);
  expect(await listEvents(service, person.id)).toEqual([
    "create_user",
    "grant",
    "link_provider ours",
    "sign_in ours",
    "sign_in ours",
  ]);
});

test("the invitation's link ends after a sign-in with the provider", async () => {
  const person = await invite(service);
  ours.accounts.set("sub-2", { email: person.email, email_verified: true });
  await signInWith(service, new Map(), { login: "sub-2" });
  const page = await service.call(undefined, `/set-password?token=${person.linkText}`);
  expect(page.status).toBe(404);
});

const VERIFIED = { email_verified: true };

describe("a provider does not link an account by an address", () => {
  const toAddress: Record<string, (email: string) => string> = {
    "with look-alike characters for another mailbox": (email) => email.replace("i", "\uff49"),
    "with two @ signs": (email) => `${email}@example.org`,
    "of a person with a password": (email) => email,
    "of a person who is already linked": (email) => email,
    "of a disabled person": (email) => email,
    "of a person whose invitation has expired": (email) => email,
  };
  test.each(Object.entries(toAddress))("%s", async (name, change) => {
    const person = name.endsWith("password") ? await makePerson(service) : await invite(service);
    if (name.endsWith("linked")) {
      ours.accounts.set(`first-${person.id}`, { email: person.email, ...VERIFIED });
      await signInWith(service, new Map(), { login: `first-${person.id}` });
    }
    if (name.includes("disabled")) await setDisabled(service.service, person.email, true);
    const expire = "update rowhouse.password_links set expires_at = now() where user_id = $1";
    if (name.endsWith("expired")) await run(expire, [person.id]);
    const login = `sub-${person.id}`;
    ours.accounts.set(login, { email: change(person.email), ...VERIFIED });
    const jar: Jar = new Map();
    expectPage(await signInWith(service, jar, { login }), 403, "Your account at &lt;Ours");
    expect([isSignedIn(jar), await countLinks(login)]).toEqual([false, 0]);
  });
});

describe("a provider that is trusted for a domain", () => {
  test("creates an account without a role for a new person", async () => {
    other.accounts.set("new-1", {
      email: "New.Person@Example.com",
      email_verified: true,
      name: "New Person",
    });
    const jar: Jar = new Map();
    await signInWith(service, jar, { login: "new-1", path: "/oidc/other" });
    const page = await visit(service, jar, "/login");
    expect(page.text).toContain("Hello, New Person");
    expect(page.text).toContain("new.person@example.com");
    expect((await readMe(service, jar, "wiki")).status).toBe(403);
  });

  test.each([
    { name: "that changes the direction of text", given: "Ada\u202Emoc.live", stored: null },
    { name: "on two lines", given: "Ada\nLovelace", stored: null },
    { name: "that is invisible", given: "\u200b\u200b", stored: null },
    { name: "with half a character", given: "Ada \ud83d", stored: null },
    { name: "of 201 characters", given: "🙂".repeat(201), stored: null },
    { name: "of 200 characters", given: ` ${"🙂".repeat(200)} `, stored: "🙂".repeat(200) },
  ])("stores $stored for a name $name", async ({ name: login, given, stored }) => {
    const email = `${crypto.randomUUID()}@example.com`;
    other.accounts.set(login, { email, email_verified: true, name: given });
    const jar: Jar = new Map();
    await signInWith(service, jar, { login, path: "/oidc/other" });
    expect((await readMe(service, jar)).json).toMatchObject({ email, displayName: stored });
  });

  test("does not link an address in use", async () => {
    const person = await makePerson(service);
    other.accounts.set("new-2", { email: person.email, email_verified: true });
    const jar: Jar = new Map();
    const response = await signInWith(service, jar, { login: "new-2", path: "/oidc/other" });
    expect([response.status, isSignedIn(jar)]).toEqual([403, false]);
  });

  test.each(["x@example.net", "x@mail.example.com", "x@not-example.com", "x@example.com@x.net"])(
    "creates no session for %s",
    async (email) => {
      other.accounts.set(email, { email, email_verified: true });
      const jar: Jar = new Map();
      const response = await signInWith(service, jar, { login: email, path: "/oidc/other" });
      expect([response.status, isSignedIn(jar)]).toEqual([403, false]);
    },
  );
});

test("a disabled person cannot sign in, and gets the reason", async () => {
  const person = await invite(service);
  ours.accounts.set("sub-3", { email: person.email, email_verified: true });
  await signInWith(service, new Map(), { login: "sub-3" });
  await setDisabled(service.service, person.email, true);
  const jar: Jar = new Map();
  const response = await signInWith(service, jar, { login: "sub-3" });
  expect([response.status, isSignedIn(jar)]).toEqual([403, false]);
  expect(response.text).toContain("Your account is disabled");
  expect(await listEvents(service, person.id)).toContain("sign_in_rejected ours disabled");
});

test("a planted row in the table of links does not sign in", async () => {
  const victim = await makePerson(service);
  const owner = await invite(service);
  ours.accounts.set("sub-4", { email: owner.email, email_verified: true });
  await signInWith(service, new Map(), { login: "sub-4" });
  const plant = (subject: string, digest: string) =>
    run(
      `insert into rowhouse.provider_links (issuer, subject, user_id, digest, secret_id)
      select issuer, $1, $2, ${digest}, secret_id from rowhouse.provider_links where subject = 'sub-4'
      on conflict (user_id, issuer) do update set subject = excluded.subject, digest = excluded.digest`,
      [subject, victim.id],
    );
  for (const digest of ["digest", "sha256('x')", "sha256('x' || uuid_send(user_id))"]) {
    await plant("sub-planted", digest);
    ours.accounts.set("sub-planted", { email: victim.email, email_verified: true });
    const jar: Jar = new Map();
    const response = await signInWith(service, jar, { login: "sub-planted" });
    expect([response.status, isSignedIn(jar)]).toEqual([403, false]);
  }
  // Not even the owner's own row after it names another person.
  await run("delete from rowhouse.provider_links where user_id = $1", [victim.id]);
  await run("update rowhouse.provider_links set user_id = $1 where subject = 'sub-4'", [victim.id]);
  const jar: Jar = new Map();
  expect((await signInWith(service, jar, { login: "sub-4" })).status).toBe(403);
  expect(isSignedIn(jar)).toBe(false);
});

test("a new session replaces the browser's session", async () => {
  const person = await invite(service);
  ours.accounts.set("sub-5", { email: person.email, email_verified: true });
  const jar: Jar = new Map();
  await signInWith(service, jar, { login: "sub-5" });
  const before = sharedCookie(jar);
  await signInWith(service, jar, { login: "sub-5" });
  const me = (cookie: string) => service.call(undefined, "/v1/auth/me", { headers: { cookie } });
  expect([(await me(before)).status, (await me(sharedCookie(jar))).status]).toEqual([401, 200]);
});

describe("a sign-in starts only by an action of the person", () => {
  const TO_WIKI = `/oidc/ours?app=wiki&redirect_uri=${encodeURIComponent(BACK)}`;
  const start = (headers: Record<string, string>, path = TO_WIKI) =>
    service.call(undefined, path, { headers });

  test.each<[what: string, headers: () => Record<string, string>]>([
    ["a link on a page of the service", () => ({ "sec-fetch-site": "same-origin" })],
    ["a bookmark", () => ({ "sec-fetch-site": "none" })],
    ["a link, in a browser without Sec-Fetch-Site", () => ({ referer: `${service.url}/login` })],
  ])("%s starts", async (_, headers) => {
    const { status, headers: answer } = await start(headers());
    expect([status, answer.get("location")?.startsWith(ours.settings.issuer)]).toEqual([303, true]);
  });

  test.each<[what: string, headers: () => Record<string, string>]>([
    ["another site", () => ({ "sec-fetch-site": "cross-site" })],
    ["another host of the domain", () => ({ "sec-fetch-site": "same-site" })],
    [
      "another site that claims its page",
      () => ({ "sec-fetch-site": "cross-site", referer: `${service.url}/login` }),
    ],
    ["another site's page", () => ({ referer: "https://evil.example.org/login" })],
    ["a page with a similar address", () => ({ referer: `${service.url}.evil.example.org/` })],
    ["a request that does not say", () => ({})],
  ])("%s gets a page whose link continues", async (_, headers) => {
    const page = await start(headers());
    expect([page.status, page.headers.get("location")]).toEqual([200, null]);
    expect(page.headers.getSetCookie().join()).not.toContain("rowhouse_oidc");
    expect(page.text).toContain("Continue with <bdi>&lt;Ours&gt;</bdi>");
    const link =
      /href="(\/oidc\/ours\?[^"]+)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const cookie = page.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    // The token works only in the browser that got the page.
    expect((await start({}, link)).status).toBe(200);
    expect((await start({ cookie }, `${TO_WIKI}&chosen=x`)).status).toBe(200);
    expect((await start({ cookie }, link)).status).toBe(303);
  });

  test("the page keeps the return address, and an unknown one gets no page", async () => {
    ours.accounts.set("sub-asked", await invited());
    const jar: Jar = new Map();
    const page = await start({ "sec-fetch-site": "cross-site" });
    keepCookies(jar, page);
    const link =
      /href="(\/oidc\/ours\?[^"]+)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expectRedirect(await signInWith(service, jar, { login: "sub-asked", path: link }), BACK);
    const wrong = await start({}, "/oidc/ours?app=wiki&redirect_uri=https://evil.example.org/");
    expect(wrong.status).toBe(400);
  });

  async function invited() {
    return { email: (await invite(service, "wiki")).email, email_verified: true };
  }
});

test("an unknown provider returns 404", async () => {
  for (const path of ["/oidc/none", "/oidc/none/callback", "/oidc"])
    expect((await service.call(undefined, path)).status).toBe(404);
});

test("the start keeps its values secret, and uses PKCE, state and nonce", async () => {
  const response = await visit(service, new Map(), "/oidc/ours");
  const { searchParams } = new URL(response.headers.get("location") ?? "");
  expect(searchParams.get("code_challenge_method")).toBe("S256");
  for (const name of ["state", "nonce", "code_challenge"])
    expect((searchParams.get(name) ?? "").length).toBeGreaterThanOrEqual(43);
  expect(searchParams.has("max_age")).toBe(false);
  const [cookie = ""] = response.headers.getSetCookie();
  expect(cookie.replace(/=[\w-]+/, "")).toBe(
    `__Host-rowhouse_oidc; Path=/; Max-Age=${PROVIDER_STATE_LIFE_S}; HttpOnly; Secure; SameSite=Lax`,
  );
  expect(cookie).not.toContain(searchParams.get("state") ?? "");
});

async function run(text: string, values: string[]): Promise<void> {
  await service.query(text, values);
}

async function countLinks(subject: string): Promise<number> {
  const [row] = await service.query<{ count: number }>(
    "select count(*)::int4 as count from rowhouse.provider_links where subject = $1",
    [subject],
  );
  return row?.count ?? -1;
}
