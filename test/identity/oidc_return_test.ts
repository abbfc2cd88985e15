/** The page to which a sign-in with a provider returns, and when the sign-in counts as recent. */
import { beforeEach, describe, expect, test } from "bun:test";
import { IDENTITY_COOKIE, SESSION_COOKIE } from "../../src/identity/mod.ts";
import { readStates, STATE_COOKIE, toStateCookie } from "../../src/identity/oidc/exchange.ts";
import type { ReturnTo } from "../../src/identity/return_to.ts";
import { setTargets } from "../../src/records/apps/mod.ts";
import { PROVIDER_STATE_LIFE_S } from "../../src/std/limits.ts";
import { IDENTITY_SECRETS, testDeps } from "../support/deps.ts";
import { expectRedirect } from "../support/page_text.ts";
import { type Jar, visit } from "../support/people.ts";
import { startProvider } from "../support/provider.ts";
import { comeBack, invite, signInWith } from "../support/provider_people.ts";
import { REDIRECT_CASES, REDIRECT_TARGETS } from "../support/redirect_cases.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const LOGIN = "grace";
const ours = await share(startProvider({ name: "ours", trustedDomains: ["example.org"] }));
const service = await share(
  openTestService({
    identity: (port) => ({
      publicUrl: `http://127.0.0.1:${port}`,
      cookieDomain: "example.org",
      providers: [ours.settings],
      requireSecondFactor: "none",
    }),
  }),
);
ours.register(`${service.url}/oidc/ours/callback`);
const app = await service.makeApp(undefined, REDIRECT_TARGETS);
const admin = await invite(service, undefined, "super_admin");
ours.accounts.set(LOGIN, { email: admin.email, email_verified: true });
beforeEach(() => {
  ours.wrong = undefined;
});

const toStart = (redirectUri: string) =>
  `/oidc/ours?${new URLSearchParams({ app: app.slug, redirect_uri: redirectUri })}`;
const isSignedIn = (jar: Jar) => jar.has(SESSION_COOKIE) || jar.has(IDENTITY_COOKIE);

/** The jar of a browser with its own state, as anyone who knows the service's secret could create it. */
function holdState(returnTo: ReturnTo): { jar: Jar; path: string } {
  const state = crypto.randomUUID();
  const cookie = toStateCookie(testDeps(service.service), {
    provider: "ours",
    issuer: ours.settings.issuer,
    state,
    nonce: "n".repeat(43),
    verifier: "v".repeat(43),
    startedAtS: Math.floor(Date.now() / 1000),
    returnTo,
  });
  const value = /=([^;]*)/.exec(cookie)?.[1] ?? "";
  const query = new URLSearchParams({ code: "c", state, iss: ours.settings.issuer });
  return { jar: new Map([[STATE_COOKIE, value]]), path: `/oidc/ours/callback?${query}` };
}

describe("redirect_uri", () => {
  test.each(
    REDIRECT_CASES.filter((one) => !one.isAllowed).map(
      (one) => [JSON.stringify(one.text), one] as const,
    ),
  )("%s is rejected at the start and again at the end", async (_, { text }) => {
    const start = await service.call(undefined, toStart(text));
    expect([start.status, start.headers.getSetCookie()]).toEqual([400, []]);
    const { jar, path } = holdState({ kind: "app", slug: app.slug, redirectUri: text });
    const asked = ours.asked.get("token");
    const end = await visit(service, jar, path);
    expect([end.status, end.headers.get("location"), isSignedIn(jar)]).toEqual([400, null, false]);
    expect(ours.asked.get("token")).toBe(asked);
  });

  test.each(
    REDIRECT_CASES.filter((one) => one.isAllowed).map(
      (one) => [JSON.stringify(one.text), one] as const,
    ),
  )("%s is the target after the sign-in", async (_, { text }) => {
    const response = await signInWith(service, new Map(), { login: LOGIN, path: toStart(text) });
    expectRedirect(response, new URL(text).href);
  });

  test("that the app has since removed is rejected", async () => {
    const gone = await service.makeApp(undefined, { origins: ["https://gone.example.org"] });
    const query = new URLSearchParams({ app: gone.slug, redirect_uri: "https://gone.example.org" });
    const jar: Jar = new Map();
    const path = await comeBack(service, jar, { login: LOGIN, path: `/oidc/ours?${query}` });
    await setTargets(testDeps(service.service), {
      slug: gone.slug,
      replaced: ["origin"],
      add: { origins: [], redirects: [] },
      remove: { origins: [], redirects: [] },
      cookieDomain: "example.org",
    });
    const response = await visit(service, jar, path);
    expect([response.status, isSignedIn(jar)]).toEqual([400, false]);
  });

  test("of the maximum length fits into the cookie", async () => {
    const [origin = ""] = REDIRECT_TARGETS.origins;
    const text = `${origin}/${"%26".repeat(670)}`;
    expect(text.length).toBeGreaterThan(2030);
    const start = await visit(service, new Map(), toStart(text));
    expect(start.status).toBe(303);
    expect((start.headers.getSetCookie()[0] ?? "").length).toBeLessThan(4096);
  });
});

test("a state expires", () => {
  const { jar } = holdState({ kind: "account" });
  const request = new Request("http://x/", {
    headers: { cookie: `${STATE_COOKIE}=${jar.get(STATE_COOKIE)}` },
  });
  const at = (seconds: number) =>
    readStates(request, {
      identitySecrets: IDENTITY_SECRETS,
      now: () => (Math.floor(Date.now() / 1000) + seconds) * 1000,
    });
  expect(at(PROVIDER_STATE_LIFE_S - 10)).toMatchObject([{ provider: "ours" }]);
  expect(at(PROVIDER_STATE_LIFE_S + 1)).toEqual([]);
});

describe("the Console", () => {
  const path = "/console/changes?from=2026-11-24T10:50Z";
  const again = `/oidc/ours?${new URLSearchParams({ to: path })}`;
  const sensitive = () => `/console/apps/${app.slug}/new-key`;
  const aged = (claims: Record<string, unknown>) => ({
    ...claims,
    auth_time: Math.floor(Date.now() / 1000) - 700,
  });

  test("asks the provider for a new sign-in, and accepts a recent sign-in", async () => {
    const jar: Jar = new Map();
    const page = await visit(service, jar, `/console/sign-in?${new URLSearchParams({ to: path })}`);
    expect(page.text).toContain(`href="${again}"`);
    const start = await visit(service, jar, again);
    expect(new URL(start.headers.get("location") ?? "").searchParams.get("max_age")).toBe("0");
    expectRedirect(await signInWith(service, jar, { login: LOGIN, path: again }), path);
    expect((await visit(service, jar, sensitive())).status).toBe(200);
  });

  test.each([
    { name: "that is too old", claims: aged },
    {
      name: "without a time from the provider",
      claims: ({ auth_time: _, ...claims }: Record<string, unknown>) => claims,
    },
  ])(
    "accepts no sign-in $name, and no session from it for a sensitive action",
    async ({ claims }) => {
      ours.wrong = { claims };
      const jar: Jar = new Map();
      const response = await signInWith(service, jar, { login: LOGIN, path: again });
      expect([response.status, isSignedIn(jar)]).toEqual([403, false]);
      expect(response.text).toContain("did not ask you to sign in");
      // Other pages accept the sign-in, and allow reading.
      expect((await signInWith(service, jar, { login: LOGIN })).status).toBe(303);
      expect((await visit(service, jar, "/console")).status).toBe(200);
      const act = await visit(service, jar, sensitive());
      expect(act.headers.get("location")).toStartWith("/console/sign-in?");
    },
  );

  test.each(["https://evil.example", "//evil.example", "/console/../login", "/console/\\evil"])(
    "does not redirect to %s",
    async (to) => {
      const start = `/oidc/ours?${new URLSearchParams({ to })}`;
      const response = await signInWith(service, new Map(), { login: LOGIN, path: start });
      expect(response.headers.get("location")).toBe("/console");
      const held = holdState({ kind: "console", path: to });
      const denied = held.path.replace("code=c", "error=access_denied");
      expect((await visit(service, held.jar, denied)).text).not.toContain("evil");
    },
  );
});
