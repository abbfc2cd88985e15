import { beforeAll, describe, expect, test } from "bun:test";
import {
  DEVICE_COOKIE,
  IDENTITY_COOKIE,
  pageRoutes,
  SESSION_COOKIE,
} from "../../src/identity/mod.ts";
import { withParents } from "../../src/identity/paths.ts";
import { createUser, makePasswordLink, setDisabled } from "../../src/records/people/mod.ts";
import { cases } from "../support/cases.ts";
import { testDeps } from "../support/deps.ts";
import { listApps, listAudit } from "../support/lists.ts";
import { expectPage, expectRedirect } from "../support/page_text.ts";
import {
  choosePassword,
  identityCookie,
  type Jar,
  makePerson,
  PASSWORD,
  readHidden,
  readMe,
  readToken,
  sharedCookie,
  signInAs,
  submitSignIn,
  visit,
} from "../support/people.ts";
import { REDIRECT_CASES, REDIRECT_TARGETS } from "../support/redirect_cases.ts";
import { enrolPerson } from "../support/second_factor.ts";
import { openTestService, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ identity: () => ({ cookieDomain: "example.org" }) }));
const app = await service.makeApp(undefined, REDIRECT_TARGETS);
const person = await makePerson(service, { name: "Ada <b>", app, role: "editor" });

const NEW_PERSON = { displayName: undefined, consoleRole: undefined };
const CALLBACK = "https://app.example.org/callback";

function authorize(redirectUri: string, slug = app.slug): string {
  return `/authorize?${new URLSearchParams({ app: slug, redirect_uri: redirectUri })}`;
}

const whoAmI = (jar: Jar) => readMe(service, jar);

describe("/authorize", () => {
  test("displays the form, signs in and redirects to the checked address with its cookies", async () => {
    const jar: Jar = new Map();
    const response = await submitSignIn(service, jar, {
      path: authorize(`${CALLBACK}?next=%2Fhome`),
      email: ` ${person.email.toUpperCase()} `,
    });
    expect([response.status, response.text]).toEqual([303, ""]);
    expect(response.headers.get("location")).toBe(`${CALLBACK}?next=%2Fhome`);
    expect(response.headers.getSetCookie()).toEqual([
      `${SESSION_COOKIE}=${jar.get(SESSION_COOKIE)}; Domain=example.org; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Lax`,
      `${IDENTITY_COOKIE}=${jar.get(IDENTITY_COOKIE)}; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Lax`,
      `${DEVICE_COOKIE}=${jar.get(DEVICE_COOKIE)}; Path=/; Max-Age=34560000; HttpOnly; Secure; SameSite=Lax`,
    ]);
    expect((await whoAmI(jar)).json).toMatchObject({ id: person.id });
  });

  test("redirects a signed-in person immediately", async () => {
    const jar = await signInAs(service, person);
    const response = await visit(service, jar, authorize("https://wiki.example.org/a?b=c#d"));
    expectRedirect(response, "https://wiki.example.org/a?b=c#d");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  test("redirects a person without a role, too, because the app handles forbidden", async () => {
    const jar = await signInAs(service, await makePerson(service));
    expect((await visit(service, jar, authorize(CALLBACK))).status).toBe(303);
  });

  test("ends a redirect loop with an app on an explanatory page", async () => {
    const jar = await signInAs(service, person);
    const statuses: number[] = [];
    for (let round = 0; round < 6; round++)
      statuses.push((await visit(service, jar, authorize(CALLBACK))).status);
    expect(statuses).toEqual([303, 303, 303, 303, 303, 409]);
    const other = await service.makeApp(undefined, { origins: ["https://other.example.org"] });
    expect(
      (await visit(service, jar, authorize("https://other.example.org/", other.slug))).status,
    ).toBe(303);
  });

  describe("redirect_uri", () => {
    let jar: Jar;
    beforeAll(async () => {
      jar = await signInAs(service, person);
    });
    test.each(REDIRECT_CASES.map((one) => [JSON.stringify(one.text), one] as const))(
      "gets the expected status for %s, from the page and from the form",
      async (_, { text, isAllowed }) => {
        const path = authorize(text);
        jar.delete("__Host-rowhouse_returns");
        const back = await visit(service, jar, path);
        const anonymous: Jar = new Map();
        const form = await visit(service, anonymous, path);
        const token = readToken((await visit(service, anonymous, authorize(CALLBACK))).text);
        const posted = await visit(service, anonymous, path, {
          fields: { form_token: token, email: "", password: "" },
        });
        if (isAllowed) {
          expectRedirect(back, new URL(text).href);
          expect([form.status, posted.status]).toEqual([200, 422]);
          return;
        }
        for (const response of [back, form, posted]) {
          expect(response.status).toBe(400);
          expect(response.headers.get("location")).toBeNull();
          expect(response.text).not.toContain("<form");
        }
      },
    );
  });

  test.each(cases("name", "path", "want")`
    no app            | /authorize?redirect_uri=${CALLBACK}                    | 400
    no redirect_uri   | /authorize?app=${app.slug}                             | 400
    two apps          | ${authorize(CALLBACK)}&app=${app.slug}                 | 400
    two redirect_uris | ${authorize(CALLBACK)}&redirect_uri=${CALLBACK}        | 400
    a malformed app   | ${authorize(CALLBACK, "A B")}                          | 400
    an unknown app    | ${authorize(CALLBACK, "no-such-app")}                  | 404
  `)("returns a $want page without a form for $name", async ({ path, want }) => {
    const response = await visit(service, new Map(), path);
    expect(response.status).toBe(Number(want));
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.text).not.toContain("<form");
  });
});

describe("the cookies of pages", () => {
  const openTwo = async () =>
    [await signInAs(service, person), await signInAs(service, await makePerson(service))] as const;
  /** Asks for a page with both cookies of a session, after the shared cookie of another. */
  const askTwice = async (path: string) => {
    const [mine, theirs] = await openTwo();
    const cookie = `${sharedCookie(theirs)}; ${sharedCookie(mine)}; ${identityCookie(mine)}`;
    return await service.call(undefined, path, { headers: { cookie } });
  };

  test("open no page if only the shared cookie is sent, or if the cookies belong to two sessions", async () => {
    const [mine, theirs] = await openTwo();
    const shared = theirs.get(SESSION_COOKIE) ?? "";
    const form_token = readToken((await visit(service, mine, "/account")).text);
    for (const own of [undefined, mine.get(IDENTITY_COOKIE), shared]) {
      const jar: Jar = new Map([[SESSION_COOKIE, shared]]);
      if (own !== undefined) jar.set(IDENTITY_COOKIE, own);
      expectPage(await visit(service, jar, authorize(CALLBACK)), 200, "<h1>Sign in</h1>");
      for (const path of ["/account", "/account/password", "/account/sessions"]) {
        const signIn = `/login?${new URLSearchParams({ to: path })}`;
        expectRedirect(await visit(service, jar, path), signIn);
        const sent = await visit(service, jar, path, { fields: { form_token, name: "Eve" } });
        expect([path, sent.status]).toEqual([path, own === mine.get(IDENTITY_COOKIE) ? 303 : 403]);
      }
    }
    expect((await whoAmI(mine)).json).toMatchObject({ displayName: "Ada <b>" });
  });

  test("with a second live shared cookie lead to the sign-in, and are cleared on every path", async () => {
    const response = await askTwice(authorize(CALLBACK));
    expectPage(response, 200, "<h1>Sign in</h1>");
    const pages = pageRoutes.map(({ path }) => path).filter((path) => !path.startsWith("/assets/"));
    const wanted = pages
      .flatMap((path) => withParents([path]))
      .filter((path) => !path.includes(":"));
    expect(wanted).toContain("/oidc/");
    expect(readCleared(response)).toEqual(
      expect.arrayContaining(["/v1", "/v1/auth", "/v1/auth/me", ...wanted]),
    );
  });

  test.each(["/account/sessions", "/account/security/passkeys", "/console/apps"])(
    "with a second live shared cookie for only %s are cleared by that page",
    async (path) => {
      const response = await askTwice(path);
      expect(response.status).toBe(303);
      expect(readCleared(response)).toEqual(expect.arrayContaining([path]));
    },
  );

  /** The paths on which a response clears the shared cookie. */
  function readCleared({ headers }: TestResponse): string[] {
    return headers.getSetCookie().flatMap((line) => {
      const [, path] = line.startsWith(`${SESSION_COOKIE}=;`)
        ? (/; Path=([^;]*)/.exec(line) ?? [])
        : [];
      return path === undefined ? [] : [path];
    });
  }

  test("signing in ends the sessions whose cookies were sent", async () => {
    const jar = await signInAs(service, person);
    const before = new Map(jar);
    await submitForm(jar, { email: person.email, password: PASSWORD });
    expect(jar.get(SESSION_COOKIE)).not.toBe(before.get(SESSION_COOKIE));
    expect((await whoAmI(before)).status).toBe(401);
    expect((await whoAmI(jar)).status).toBe(200);
  });

  async function submitForm(jar: Jar, typed: { email: string; password: string }) {
    const aside: Jar = new Map();
    const token = readToken((await visit(service, aside, "/login")).text);
    for (const [name, value] of aside) jar.set(name, value);
    return await visit(service, jar, "/login", { fields: { form_token: token, ...typed } });
  }
});

describe("/login", () => {
  test("lists the apps that the person can open, with the person's name escaped", async () => {
    const jar = await signInAs(service, person);
    const page = await visit(service, jar, "/login");
    expectPage(page, 200, "Hello, Ada &lt;b&gt;", app.slug, "editor");
    expect(page.text.match(/class="app"/g)).toHaveLength(1);
  });

  test("lists every app for people with a Console role", async () => {
    const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
    await service.makeApp();
    const page = await visit(service, jar, "/login");
    const apps = await listApps(service.service);
    expect(page.text.match(/class="app"/g)).toHaveLength(apps.length);
  });

  test("lists the first 50 of many apps, and finds the others, in 20 KB", async () => {
    const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
    const slugs = Array.from({ length: 60 }, (_, n) => `many-${String(n).padStart(2, "0")}`);
    const list = [slugs.join(",")];
    await service.query(
      "insert into rowhouse.apps (id, slug) select gen_random_uuid(), unnest(string_to_array($1, ','))",
      list,
    );
    const count = (text: string) => text.match(/class="app"/g)?.length ?? 0;
    const page = await visit(service, jar, "/login?q=many");
    expect([count(page.text), page.text.match(/many-(49|50)/g)?.[0]]).toEqual([50, "many-49"]);
    expect(page.text).not.toContain("many-50");
    expect(page.text.length).toBeLessThan(20_000);
    const found = await visit(service, jar, "/login?q=MANY-5");
    expect([count(found.text), found.text.includes("many-50")]).toEqual([10, true]);
    expectPage(await visit(service, jar, "/login?q=%00%25"), 200, "No app has this name.");
    const stranger = await signInAs(service, await makePerson(service));
    expect(count((await visit(service, stranger, "/login?q=many")).text)).toBe(0);
    await service.query(
      "delete from rowhouse.apps where slug = any (string_to_array($1, ','))",
      list,
    );
  });

  test("signs out here or everywhere", async () => {
    const [here, there] = [await signInAs(service, person), await signInAs(service, person)];
    const token = readToken((await visit(service, here, "/login")).text);
    const out = await visit(service, here, "/sign-out", { fields: { form_token: token } });
    expectRedirect(out, "/login?signed-out=here");
    const page = await visit(service, here, "/login?signed-out=here");
    expectPage(page, 200, "notice-info", "You are signed out.");
    expect([here.has(SESSION_COOKIE), here.has(IDENTITY_COOKIE)]).toEqual([false, false]);
    expect((await whoAmI(there)).status).toBe(200);
    const third = await signInAs(service, person);
    const everywhere = readToken((await visit(service, third, "/login")).text);
    const all = await visit(service, third, "/sign-out", {
      fields: { form_token: everywhere, everywhere: "yes" },
    });
    expect(all.headers.get("location")).toBe("/login?signed-out=everywhere");
    expect((await whoAmI(there)).status).toBe(401);
  });

  test("signing out twice is not an error", async () => {
    const response = await visit(service, new Map(), "/sign-out", { fields: { form_token: "x" } });
    expectRedirect(response, "/login?signed-out=here");
  });
});

test("an error's reference is the short end of the request's id", async () => {
  const response = await visit(service, new Map(), "/authorize");
  const [, reference = ""] =
    /<code class="reference" id="reference">([0-9a-f]{12})<\/code>/.exec(response.text) ?? [];
  expect(reference).not.toBe("");
  expect(response.headers.get("x-request-id")).toEndWith(reference);
});

describe("the sign-in response", () => {
  test("is identical for an unknown address, a wrong password, also with a second factor, a disabled person and a missing password", async () => {
    const disabled = await makePerson(service);
    await setDisabled({ admin: service.service.admin }, disabled.email, true);
    const invited = `invited-${crypto.randomUUID().slice(-6)}@example.org`;
    await createUser(testDeps(service.service), { ...NEW_PERSON, email: invited });
    const { person: factored } = await enrolPerson(service, await makePerson(service));
    const tries = [
      { email: "nobody@example.org", password: PASSWORD },
      { email: person.email, password: `${PASSWORD}!` },
      { email: factored.email, password: `${PASSWORD}!` },
      { email: disabled.email, password: PASSWORD },
      { email: invited, password: PASSWORD },
      { email: "not an address\u0000", password: PASSWORD },
    ];
    const responses = new Set<string>();
    for (const typed of tries) {
      const { status, text } = await submitSignIn(service, new Map(), typed);
      const hidden = text
        .replace(/name="form_token" value="[^"]+"/, "")
        .replace(/(type="email"[^>]*) value="[^"]*"/, "$1");
      responses.add(`${status} ${hidden}`);
    }
    expect([...responses]).toEqual([expect.stringMatching(/^422 /)]);
  });

  test("displays a missing value next to its field, and retains the address but never the password", async () => {
    const missing = await submitSignIn(service, new Map(), { email: " ", password: "" });
    expectPage(missing, 422, 'aria-describedby="email-issue"', "Enter your password.");
    const wrong = await submitSignIn(service, new Map(), {
      email: '"><script>',
      password: "wrong <password>",
    });
    expect(wrong.text).toContain("&quot;&gt;&lt;script&gt;");
    expect(wrong.text).not.toContain("<script>");
    expect(wrong.text).not.toContain("wrong &lt;password");
  });
});

describe("the pages reject a form", () => {
  test.each([
    { name: "without an Origin", origin: null },
    { name: "from an app's origin", origin: "https://wiki.example.org" },
    { name: "from null", origin: "null" },
    { name: "from a foreign origin", origin: "https://evil.example.com" },
  ])("$name", async ({ origin }) => {
    const jar: Jar = new Map();
    const token = readToken((await visit(service, jar, "/login")).text);
    const fields = { form_token: token, email: person.email, password: PASSWORD };
    expect((await visit(service, jar, "/login", { fields, origin })).status).toBe(403);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    const mine = await signInAs(service, person);
    const out = readToken((await visit(service, mine, "/login")).text);
    const left = await visit(service, mine, "/sign-out", { fields: { form_token: out }, origin });
    expect(left.status).toBe(403);
    expect((await whoAmI(mine)).status).toBe(200);
  });

  const tokenOf = async (jar: Jar) => readToken((await visit(service, jar, "/login")).text);
  test.each([
    { name: "without a token", token: async () => "" },
    { name: "with the token of another browser", token: () => tokenOf(new Map()) },
    { name: "with a malformed token", token: async () => tokenOf(await signInAs(service, person)) },
  ])("$name", async ({ token }) => {
    const jar: Jar = new Map();
    await visit(service, jar, "/login");
    const response = await visit(service, jar, "/login", {
      fields: { form_token: await token(), email: person.email, password: PASSWORD },
    });
    expect(response.status).toBe(403);
    expect(response.text).not.toContain("<form");
    expect(jar.has(SESSION_COOKIE)).toBe(false);
  });

  test("with a repeated field, another content type or encoding, or too many bytes", async () => {
    const post = (
      body: string,
      type = "application/x-www-form-urlencoded",
      headers: Record<string, string> = {},
    ) =>
      service.call(undefined, "/login", {
        method: "POST",
        headers: { origin: service.url, "content-type": type, ...headers },
        body,
      });
    expectPage(await post("email=a&email=b"), 400, "<h1>Form rejected</h1>");
    expect((await post("{}", "application/json")).status).toBe(415);
    expect((await post("email=a", undefined, { "content-encoding": "gzip" })).status).toBe(415);
    expect((await post(`email=${"a".repeat(17_000)}`)).status).toBe(413);
  });
});

test("two tabs that sign in together are both signed in, regardless of the final cookie", async () => {
  const jar: Jar = new Map();
  const [first, second] = [
    await visit(service, jar, "/login"),
    await visit(service, jar, "/login"),
  ];
  const fields = { email: person.email, password: PASSWORD };
  const responses = await Promise.all(
    [first, second].map((page) =>
      visit(service, jar, "/login", { fields: { ...fields, form_token: readToken(page.text) } }),
    ),
  );
  expect(responses.map((response) => response.status)).toEqual([303, 303]);
  expect((await visit(service, jar, "/login")).text).toContain("Your apps");
});

describe("/set-password", () => {
  const deps = () => testDeps(service.service);
  const NEW = "seven slow green boats";

  async function makeLink() {
    const email = `new-${crypto.randomUUID().slice(-8)}@example.org`;
    const { linkText } = await createUser(deps(), { ...NEW_PERSON, email });
    return { email, path: `/set-password?token=${linkText}` };
  }

  /** Opens a link, and returns a function that sends its form. */
  async function openLink(path: string) {
    const jar: Jar = new Map();
    const hidden = readHidden((await visit(service, jar, path)).text);
    return (password: string) =>
      visit(service, jar, "/set-password", { fields: { ...hidden, password } });
  }

  const choose = (path: string, password: string) => choosePassword(service, path, password);

  test("sets a password once, which then signs in", async () => {
    const { email, path } = await makeLink();
    expect((await visit(service, new Map(), path)).text).toContain(email);
    expectRedirect(await choose(path, NEW), "/login?done=password");
    const again = await visit(service, new Map(), path);
    expect([again.status, again.text.includes("<form")]).toEqual([404, false]);
    expect((await submitSignIn(service, new Map(), { email, password: NEW })).status).toBe(303);
  });

  test("reads the link from the submitted form, not from its address", async () => {
    const { path } = await makeLink();
    const jar: Jar = new Map();
    const page = await visit(service, jar, path);
    expect(page.text).toContain('action="/set-password"');
    const response = await visit(service, jar, path, {
      fields: { ...readHidden(page.text), link: "", password: NEW },
    });
    expect(response.status).toBe(404);
    expect((await choose(path, NEW)).status).toBe(303);
  });

  test("accepts one of two simultaneous uses", async () => {
    const { path } = await makeLink();
    const forms = await Promise.all(Array.from({ length: 4 }, () => openLink(path)));
    const responses = await Promise.all(forms.map((send, i) => send(`${NEW} ${i}`)));
    expect(responses.map((response) => response.status).sort()).toEqual([303, 404, 404, 404]);
  });

  test("displays the reason next to the field of a rejected password, and keeps the link valid", async () => {
    const { email, path } = await makeLink();
    expectPage(await choose(path, email), 422, "your email address", 'aria-invalid="true"');
    expect((await choose(path, NEW)).status).toBe(303);
  });

  test("rejects a link that was replaced, has expired, or belongs to a disabled person", async () => {
    const { email, path } = await makeLink();
    const { linkText } = await makePasswordLink(deps(), email);
    expect((await visit(service, new Map(), path)).status).toBe(404);
    const newer = `/set-password?token=${linkText}`;
    expect((await visit(service, new Map(), newer)).status).toBe(200);
    await service.query(
      "update rowhouse.password_links set expires_at = now() where user_id = (select id from rowhouse.users where email = $1)",
      [email],
    );
    expect((await visit(service, new Map(), newer)).status).toBe(404);
    const renewed = await makePasswordLink(deps(), email);
    await setDisabled(deps(), email, true);
    expect(
      (await visit(service, new Map(), `/set-password?token=${renewed.linkText}`)).status,
    ).toBe(404);
  });

  test.each([
    "",
    "?token=",
    "?token=short",
    `?token=${"A".repeat(32)}`,
    `?token=${"a".repeat(16)}.${"A".repeat(32)}`,
    `?token=${"A".repeat(32)}&token=${"A".repeat(32)}`,
    "?token=%00",
  ])("rejects %s as a link", async (query) => {
    expect((await visit(service, new Map(), `/set-password${query}`)).status).toBe(404);
  });
});

describe("every page", () => {
  test.each([
    { path: "/login", status: 200, hasScript: true },
    { path: "/authorize", status: 400, hasScript: true },
    { path: "/set-password", status: 404, hasScript: false },
  ])("$path forbids framing, caching and foreign content", async ({ path, status, hasScript }) => {
    const response = await visit(service, new Map(), path);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-security-policy")).toBe(
      `default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'${hasScript ? "; script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'" : ""}`,
    );
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("referrer-policy")).toBe("same-origin");
    expect(response.headers.get("x-frame-options")).toBe("DENY");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const text = response.text.replace(
      /<script type="module" src="\/assets\/[\w.]+"><\/script>/,
      "",
    );
    expect(text === response.text).toBe(!hasScript);
    expect(text).not.toMatch(/<script|<style| style=| on[a-z]+=/i);
  });

  test.each([
    { name: "stylesheet", ending: "css", type: "text/css; charset=utf-8" },
    { name: "script", ending: "js", type: "text/javascript; charset=utf-8" },
  ])(
    "references a small $name with its digest in the address, which is cached forever",
    async (asset) => {
      const page = await visit(service, new Map(), "/login");
      const address = new RegExp(`="(/assets/\\w+\\.[0-9a-f]{16}\\.${asset.ending})"`);
      const url = service.url + (address.exec(page.text)?.[1] ?? "");
      const response = await fetch(url, { headers: { "accept-encoding": "identity" } });
      expect([response.status, response.headers.get("content-type")]).toEqual([200, asset.type]);
      expect(response.headers.get("cache-control")).toContain("immutable");
      expect(response.headers.get("vary")).toBe("accept-encoding");
      const text = await response.text();
      for (const encoding of ["gzip", "br"]) {
        const encoded = await fetch(url, { headers: { "accept-encoding": encoding } });
        expect(encoded.headers.get("content-encoding")).toBe(encoding);
        expect(await encoded.text()).toBe(text);
      }
    },
  );
});

test("the audit log has the actions of people without their input", async () => {
  const someone = await makePerson(service);
  const cookie = sharedCookie(await signInAs(service, someone));
  await service.call(undefined, "/v1/auth/logout", { method: "POST", headers: { cookie } });
  const entries = (await listAudit({ admin: service.service.admin }, 1000)).filter(
    (entry) => entry.userId === someone.id,
  );
  const actions = ["sign_out", "sign_in", "set_password", "create_user"];
  expect(entries.map((entry) => entry.action)).toEqual(actions);
  expect(entries[0]?.client).toMatch(/^(::ffff:)?127\.0\.0\.1$|^::1$/);
  expect(service.log.join("\n") + JSON.stringify(entries)).not.toContain(PASSWORD);
});

test("each page of a signed-in person links to the sign-out, which works without a script", async () => {
  const person = await makePerson(service);
  const jar = await signInAs(service, person);
  const pages = pageRoutes.filter(({ method, path }) => method === "GET" && !path.includes(":"));
  const paths = pages
    .map(({ path }) => path)
    .filter((path) => !path.startsWith("/assets/") && path !== "/sign-out");
  for (const path of [...paths, "/console", "/no-page"]) {
    const { status, headers, text } = await visit(service, jar, path);
    if (status === 303 || !headers.get("content-type")?.startsWith("text/html")) continue;
    // The list of apps has the form itself; the reset of a password is for people without a session.
    const isReachable = /href="\/sign-out"|action="\/sign-out"/.test(text);
    expect({ path, isReachable }).toEqual({ path, isReachable: path !== "/forgot" });
  }
  for (const path of ["/login", "/set-password?token=used", "/second-factor", "/no-page", "/"])
    expect([path, (await visit(service, new Map(), path)).text]).toEqual([
      path,
      expect.not.stringContaining("/sign-out"),
    ]);
  const page = await visit(service, jar, "/sign-out");
  expect(page.text).toContain(person.email);
  await visit(service, jar, "/sign-out", { fields: { form_token: readToken(page.text) } });
  expect((await visit(service, jar, "/account")).status).toBe(303);
});
