/** Sign-ins with a provider as people use browsers: several tabs, back, reload, another account; and errors by who can cure them. */
import { beforeEach, describe, expect, test } from "bun:test";
import { STATE_COOKIE } from "../../src/identity/oidc/exchange.ts";
import { cases } from "../support/cases.ts";
import { expectPage, expectRedirect } from "../support/page_text.ts";
import { type Jar, visit } from "../support/people.ts";
import { passProvider, startProvider } from "../support/provider.ts";
import { comeBack, invite, signInWith } from "../support/provider_people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const LOGIN = "grace";
const PAGES = ["https://wiki.example.org/a", "https://wiki.example.org/b?x=1#y"] as const;

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
const app = await service.makeApp(undefined, { origins: ["https://wiki.example.org"] });
const { email } = await invite(service, app.slug);
ours.accounts.set(LOGIN, { email, email_verified: true });
beforeEach(() => {
  ours.wrong = undefined;
  ours.settings.prompt = undefined;
});

const toStart = (page: string) =>
  `/oidc/ours?${new URLSearchParams({ app: app.slug, redirect_uri: page })}`;
const toLocation = (page: string) => new URL(page).href;

async function readPrompt(jar: Jar, path = "/oidc/ours"): Promise<string | null> {
  const start = await visit(service, jar, path);
  return new URL(start.headers.get("location") ?? "").searchParams.get("prompt");
}

describe("with several tabs", () => {
  test.each([
    { name: "in the order of the starts", order: [0, 1] },
    { name: "in the other order", order: [1, 0] },
  ])("each reaches its page, with callbacks $name", async ({ order }) => {
    const jar: Jar = new Map();
    const paths = [];
    for (const page of PAGES)
      paths.push(await comeBack(service, jar, { login: LOGIN, path: toStart(page) }));
    for (const tab of order) {
      expectRedirect(await visit(service, jar, paths[tab] ?? ""), toLocation(PAGES[tab] ?? ""));
    }
    expect(jar.has(STATE_COOKIE)).toBe(false);
  });

  test("the first tab reaches its page if the other tab's cookie replaced its own", async () => {
    const jar: Jar = new Map();
    const first = await comeBack(service, jar, { login: LOGIN, path: toStart(PAGES[0]) });
    jar.delete(STATE_COOKIE);
    const second = await comeBack(service, jar, { login: LOGIN, path: toStart(PAGES[1]) });
    const early = await visit(service, jar, first);
    expectPage(early, 400, `redirect_uri=${encodeURIComponent(PAGES[0])}`);
    expect((await visit(service, jar, second)).headers.get("location")).toBe(toLocation(PAGES[1]));
    expect((await visit(service, jar, first)).headers.get("location")).toBe(toLocation(PAGES[0]));
  });

  test("with long addresses keeps a cookie that browsers accept", async () => {
    const jar: Jar = new Map();
    for (const tab of [1, 2, 3, 4, 5, 6]) {
      const page = `https://wiki.example.org/${tab}/${"%26".repeat(600)}`;
      const start = await visit(service, jar, toStart(page));
      const cookie = start.headers.getSetCookie()[0] ?? "";
      expect(cookie.length).toBeLessThan(4096);
    }
  });

  test("of which one is abandoned, the others are not affected", async () => {
    const jar: Jar = new Map();
    const paths = [];
    for (const _ of [1, 2, 3]) await visit(service, jar, toStart(PAGES[1]));
    paths.push(await comeBack(service, jar, { login: LOGIN, path: toStart(PAGES[0]) }));
    expect((await visit(service, jar, paths[0] ?? "")).status).toBe(303);
    expect(jar.has(STATE_COOKIE)).toBe(true);
  });
});

describe("a used callback", () => {
  test("that is opened again leads a signed-in person to the page of the sign-in", async () => {
    const jar: Jar = new Map();
    const path = await comeBack(service, jar, { login: LOGIN, path: toStart(PAGES[0]) });
    await visit(service, jar, path);
    const asked = ours.asked.get("token");
    for (const _ of ["reload", "back"]) {
      expectRedirect(await visit(service, jar, path), toLocation(PAGES[0]));
    }
    expect(ours.asked.get("token")).toBe(asked);
  });

  test("leads no one else anywhere, and its page starts again for the same page", async () => {
    const jar: Jar = new Map();
    const path = await comeBack(service, jar, { login: LOGIN, path: toStart(PAGES[0]) });
    await visit(service, jar, path);
    expectPage(await visit(service, new Map(), path), 400, "/authorize?app=");
  });

  test("with a changed destination is expired", async () => {
    const jar: Jar = new Map();
    const path = await comeBack(service, jar, { login: LOGIN, path: toStart(PAGES[0]) });
    await visit(service, jar, path);
    const forged = path.replace(/state=([^&.]+)\.[^&]+/, "state=$1.AAAA");
    expect(forged).not.toBe(path);
    expect((await visit(service, jar, forged)).status).toBe(400);
  });
});

describe("the provider asks for an account", () => {
  test("after a rejected account, until a sign-in succeeds", async () => {
    const jar: Jar = new Map();
    expect(await readPrompt(jar)).toBeNull();
    ours.accounts.set("unknown", { email: "unknown@example.org", email_verified: true });
    expect((await signInWith(service, jar, { login: "unknown" })).status).toBe(403);
    const start = await visit(service, jar, "/oidc/ours");
    const url = new URL(start.headers.get("location") ?? "");
    expect(url.searchParams.get("prompt")).toBe("select_account");
    // The test's provider has no choice of accounts.
    url.searchParams.delete("prompt");
    const callback = await passProvider(url.href, { login: LOGIN });
    expect((await visit(service, jar, callback.slice(service.url.length))).status).toBe(303);
    expect(await readPrompt(jar)).toBeNull();
  });

  test("as the setting says", async () => {
    ours.settings.prompt = "select_account";
    expect(await readPrompt(new Map())).toBe("select_account");
    ours.settings.prompt = "login";
    expect(await readPrompt(new Map())).toBe("login");
  });

  test("not again after a provider that rejects the question", async () => {
    const jar: Jar = new Map();
    await signInWith(service, jar, { login: "unknown" });
    const start = await visit(service, jar, "/oidc/ours");
    const state = new URL(start.headers.get("location") ?? "").searchParams.get("state") ?? "";
    await visit(service, jar, `/oidc/ours/callback?${toError("invalid_request", state)}`);
    expect(await readPrompt(jar)).toBeNull();
  });
});

function toError(error: string, state: string): string {
  return new URLSearchParams({ error, state, iss: ours.settings.issuer }).toString();
}

async function readReason(): Promise<string | undefined> {
  const [row] = await service.query<{
    reason: string;
  }>(`select details ->> 'reason' as reason from rowhouse.audit
    where action = 'sign_in_rejected' order by id desc limit 1`);
  return row?.reason;
}

describe("an invited person whose address the provider does not confirm", () => {
  test.each([
    { value: undefined, reason: "email_verified is absent, must be true" },
    { value: "true", reason: 'email_verified is the text "true", must be true' },
    { value: 1, reason: "email_verified is 1, must be true" },
    { value: false, reason: "email_verified is false, must be true" },
    { value: ["x"], reason: "email_verified is of another type, must be true" },
  ])("is not linked for $value, with a reason and the way by the invitation", async (given) => {
    const { email, id } = await invite(service);
    ours.accounts.set(id, { email, email_verified: given.value });
    const response = await signInWith(service, new Map(), { login: id });
    expectPage(response, 403, "open the link in that email");
    expect(await readReason()).toBe(`unlinked: ${given.reason}`);
  });

  test("has a reason if the domain is not trusted", async () => {
    ours.accounts.set("elsewhere", { email: "x@elsewhere.example", email_verified: true });
    await signInWith(service, new Map(), { login: "elsewhere" });
    expect(await readReason()).toBe(
      "unlinked: the email's domain is not a trusted domain of the provider",
    );
  });
});

describe("an error of the provider names who can cure it", () => {
  test.each([
    ...cases("error", "status", "says", "log")`
    access_denied              | 403 | ask the administrator of ours for access
    login_required             | 403 | Please try again.
    interaction_required       | 403 | Please try again.
    consent_required           | 403 | Please try again.
    account_selection_required | 403 | Please try again.
    temporarily_unavailable    | 503 | try again in a moment
    server_error               | 503 | try again in a moment
    unauthorized_client        | 403 | contact your administrator               | CLIENT_SECRET
    invalid_request            | 403 | contact your administrator               | redirect URI
    invalid_scope              | 403 | contact your administrator               | OIDC_OURS_SCOPES
    unknown_to_us              | 403 | ended the sign-in with an error
    constructor                | 403 | ended the sign-in with an error
  `,
    ...[
      "registration_not_supported",
      "request_not_supported",
      "request_uri_not_supported",
      "invalid_request_uri",
      "invalid_request_object",
    ].map((error) => ({
      ...{ error, status: "403", says: "does not accept the settings of this service" },
      log: `${error}: the provider expects a request that Rowhouse does not send`,
    })),
  ])("$error", async ({ error, status, says, log }) => {
    const jar: Jar = new Map();
    const start = await visit(service, jar, toStart(PAGES[0]));
    const state = new URL(start.headers.get("location") ?? "").searchParams.get("state") ?? "";
    const response = await visit(service, jar, `/oidc/ours/callback?${toError(error, state)}`);
    expect(response.status).toBe(Number(status));
    expect(response.text).toContain(says);
    expect(response.text.includes("was canceled")).toBe(error === "access_denied");
    expect(response.text).toContain("/authorize?app=");
    expect(await readReason()).toBe(error);
    if (log !== "") expect(service.log.some((line) => line.includes(log))).toBe(true);
  });

  test("a wrong or expired client secret", async () => {
    const jar: Jar = new Map();
    const path = await comeBack(service, jar, { login: LOGIN });
    const { clientSecret } = ours.settings;
    ours.settings.clientSecret = "expired";
    const response = await visit(service, jar, path);
    ours.settings.clientSecret = clientSecret;
    expectPage(response, 403, "does not accept the settings of this service");
    expect(await readReason()).toBe("invalid_client");
    expect(service.log.some((line) => line.includes("OIDC_OURS_CLIENT_SECRET"))).toBe(true);
  });

  test("a wrong clock", async () => {
    ours.wrong = { claims: (claims) => ({ ...claims, exp: Number(claims["iat"]) - 600 }) };
    const response = await signInWith(service, new Map(), { login: LOGIN });
    expect(response.text).toContain("its clock differs");
    expect(service.log.some((line) => line.includes("synchronize the clocks"))).toBe(true);
  });
});
