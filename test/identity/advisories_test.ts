/** Advisories of similar projects. test/system/security/advisories.md names the test of each. */
import { beforeAll, describe, expect, test } from "bun:test";
import { SESSION_COOKIE } from "../../src/identity/mod.ts";
import { Problem } from "../../src/problem.ts";
import { createUser } from "../../src/records/people/mod.ts";
import { testDeps } from "../support/deps.ts";
import {
  identityCookie,
  type Jar,
  makePerson,
  sharedCookie,
  signInAs,
  submitSignIn,
  visit,
} from "../support/people.ts";
import { sendRaw, writeRequest } from "../support/raw_http.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));
await service.makeApp(undefined, { slug: "wiki", origins: ["https://wiki.example.org"] });

test("every spelling of an address shares one count of attempts", async () => {
  const { email } = await makePerson(service);
  const spellings = [
    email,
    email.toUpperCase(),
    ` ${email}\t`,
    email.replace("p", "ｐ"),
    email.replace("@", "＠"),
  ];
  const statuses: number[] = [];
  for (let round = 0; round < 11; round++) {
    const typed = { email: spellings[round % spellings.length] ?? "", password: "not it at all" };
    statuses.push((await submitSignIn(service, new Map(), typed)).status);
  }
  expect(statuses).toEqual([...Array<number>(10).fill(422), 429]);
});

describe("no part of a request except its path opens a page or an endpoint:", () => {
  const CLOSED = ["/account", "/console", "/v1/auth/me", "/v1/data/db/todos", "/metrics"];
  test.each<{ name: string; ending?: string; headers?: Record<string, string> }>([
    { name: "a query that ends like an open path", ending: "?x=/live" },
    { name: "an escaped fragment that ends like an open path", ending: "%23/live" },
    { name: "the agent of a health check", headers: { "user-agent": "GoogleHC/1.0" } },
    { name: "the agent of a probe", headers: { "user-agent": "kube-probe/1.30" } },
    { name: "X-Forwarded-Uri", headers: { "x-forwarded-uri": "/live" } },
    { name: "X-Original-URL", headers: { "x-original-url": "/live", "x-rewrite-url": "/live" } },
    { name: "X-HTTP-Method-Override", headers: { "x-http-method-override": "OPTIONS" } },
    { name: "X_Forwarded_User", headers: { x_forwarded_user: "ada@example.org" } },
    {
      name: "X-Forwarded-For",
      headers: { "x-forwarded-for": "127.0.0.1", forwarded: "for=[::1]" },
    },
  ])("$name", async ({ ending = "", headers = {} }) => {
    for (const path of CLOSED) {
      const response = await service.call(undefined, path + ending, { headers });
      expect([path, response.status]).not.toEqual([path, 200]);
      expect(response.headers.getSetCookie()).toEqual([]);
    }
  });
});

test("a path with an empty segment is not found", async () => {
  const paths = ["//login", "/login/", "//v1/auth/me", "/v1//auth/me", "/v1/auth//me", "//console"];
  for (const path of [...paths, "//v1/data/db/todos", "/v1/data//db/todos"]) {
    // Sent unchanged: clients would normalize it.
    const response = await sendRaw(service.url, writeRequest(`GET ${path}`), {
      untilResponse: true,
    });
    expect([path, response.status]).toEqual([path, 404]);
  }
});

test("pages escape every part of a request that they repeat", async () => {
  const mark = '"><script>alert(1)</script>';
  const said = encodeURIComponent(mark);
  const paths = [
    `/${said}`,
    `/oidc/${said}`,
    `/oidc/${said}/callback?error=${said}&error_description=${said}`,
    `/authorize?app=${said}&redirect_uri=${said}`,
    `/authorize?app=wiki&redirect_uri=https://wiki.example.org/${said}`,
    `/set-password?token=${said}`,
    `/login?error=${said}&error_description=${said}`,
    `/forgot?sent=${said}`,
    `/console/sign-in?to=${said}`,
    `/v1/auth/me?app=${said}`,
    `/v1/data/db/${said}`,
  ];
  for (const path of paths)
    expect((await service.call(undefined, path)).text).not.toContain("<script>alert");
  const typed = { email: mark, password: mark };
  expect((await submitSignIn(service, new Map(), typed)).text).not.toContain("<script>alert");
});

test("a cookie with a session's id and a wrong secret does not end the session", async () => {
  const jar = await signInAs(service, await makePerson(service));
  const [id = "", secret = ""] = (sharedCookie(jar).split("=")[1] ?? "").split(".");
  for (const forged of [
    `${id}.${"a".repeat(secret.length)}`,
    `${id}.`,
    id,
    `${id}.${secret.slice(0, -1)}`,
  ]) {
    const cookie = `${SESSION_COOKIE}=${forged}; ${identityCookie(jar).replace(secret, "")}`;
    const left = await service.call(undefined, "/v1/auth/logout", {
      method: "POST",
      headers: { cookie: `${SESSION_COOKIE}=${forged}` },
    });
    expect(left.status).toBe(204);
    await service.call(undefined, "/sign-out", { method: "POST", headers: { cookie } });
  }
  const headers = { cookie: sharedCookie(jar) };
  expect((await service.call(undefined, "/v1/auth/me", { headers })).status).toBe(200);
});

describe("a page does not link or redirect to an address from", () => {
  const EVIL = "evil.example";
  let jar: Jar;
  beforeAll(async () => {
    jar = await signInAs(service, await makePerson(service));
  });
  const PATHS = ["/login", "/forgot", "/set-password?token=x", "/authorize?app=wiki", "/nowhere"];

  test("a header, in the response to this request or the next", async () => {
    const headers = {
      "x-forwarded-host": EVIL,
      "x-forwarded-proto": "https",
      "x-forwarded-prefix": `//${EVIL}`,
      "x-original-host": EVIL,
      forwarded: `host=${EVIL};proto=https`,
      referer: `https://${EVIL}/login`,
    };
    for (const path of PATHS)
      for (const said of [headers, { ...headers, host: EVIL }, {}]) {
        const response = await service.call(undefined, path, { headers: said });
        const got = [response.text, response.headers.get("location") ?? ""].join();
        expect([path, got.includes(EVIL)]).toEqual([path, false]);
      }
  });

  test.each([`https://${EVIL}`, `//${EVIL}`, `/\\${EVIL}`, `${EVIL}`, `javascript:${EVIL}`])(
    "a parameter with %s",
    async (to) => {
      const names = ["callbackURL", "redirectTo", "redirect_uri", "returnTo", "next", "to", "url"];
      const query = new URLSearchParams(names.map((name) => [name, to])).toString();
      for (const path of ["/login", "/forgot", "/account", "/console/sign-in", "/oidc/none"]) {
        const response = await visit(service, jar, `${path}?${query}`);
        const got = [response.text, response.headers.get("location") ?? ""].join();
        expect([path, got.includes(EVIL)]).toEqual([path, false]);
      }
    },
  );
});

test("an address is accepted only if it is one mailbox after normalization", async () => {
  const addresses = [
    '"a@evil.example"@example.org',
    '"a@evil.example x"@example.org',
    "a@example.org,b@evil.example",
    "b@evil.example <a@example.org>",
    "a＠evil.example@example.org",
    "a@evil.example＠example.org",
    "a@example.org@evil.example",
    "a@example.org\r\nBcc: b@evil.example",
    "a@example.org\u0000",
    "(b@evil.example)a@example.org",
    "a@[127.0.0.1]",
    "а@example.org",
    "a@ехample.org",
  ];
  for (const email of addresses) {
    const options = { email, displayName: undefined, consoleRole: undefined };
    const made = await createUser(testDeps(service.service), options).catch((error) => error);
    expect([email, made instanceof Problem]).toEqual([email, true]);
  }
});
