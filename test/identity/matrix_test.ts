import { expect, test } from "bun:test";
import { clearPages } from "../../src/identity/cookies.ts";
import { DEFAULT_SETTINGS, pageRoutes, SESSION_COOKIE } from "../../src/identity/mod.ts";
import { MOVED } from "../../src/openapi/guides.tsx";
import { PREVIEWS } from "../../src/preview.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { setDisabled } from "../../src/records/people/mod.ts";
import { docs, pages, routes } from "../../src/service/routes.ts";
import { type Jar, makePerson, signInAs, toCookieHeader } from "../support/people.ts";
import { openToBrowsers } from "../support/person_keys.ts";
import { fillPath } from "../support/samples/routes.ts";
import { enrolPerson, passPassword } from "../support/second_factor.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

/** The visitors, in the order of the columns below. */
const VISITORS = [
  ...["anonymous", "expired", "pending", "disabled", "no role", "role", "admin", "super_admin"],
  ...["API key"],
] as const;
type Visitor = (typeof VISITORS)[number];

const AWAY = {
  name: "away",
  issuer: "http://localhost:1",
  clientId: "matrix",
  clientSecret: "secret of the matrix",
  label: "Away",
  trustedDomains: ["example.org"],
  creates: true,
  scopes: [],
  roles: [],
};

const ORIGIN = "https://matrix.example.org";

const all = (status: number) => VISITORS.map(() => status);
/** Only a key has access. Without rows, the key gets `status`. */
const keyOnly = (status: number) =>
  VISITORS.map((visitor) => (visitor === "API key" ? status : 401));

type Row = { path?: string; body?: string; headers?: Record<string, string>; want: number[] };

/** Each route's response to each visitor; a route without a row fails the test below. Declared access adds the rows of endpoints. */
const WANT: Record<string, Row> = {
  "GET /v1/openapi.json": { want: all(200) },
  // The app has no table. Without a key, the response reveals nothing.
  "GET /docs/tables/:table": {
    path: "/docs/tables/todos",
    want: VISITORS.map((visitor) => (visitor === "API key" ? 404 : 200)),
  },
  "GET /live": { want: all(200) },
  "GET /ready": { want: all(200) },
  "POST /v1/auth/logout": { want: all(204) },
  "GET /": { want: all(303) },
  "GET /authorize": {
    path: "/authorize?app=matrix&redirect_uri=https%3A%2F%2Fmatrix.example.org%2F",
    want: [200, 200, 200, 200, 303, 303, 303, 303, 200],
  },
  "POST /authorize": {
    path: "/authorize?app=matrix&redirect_uri=https%3A%2F%2Fmatrix.example.org%2F",
    want: all(403),
  },
  "GET /login": { want: all(200) },
  "POST /login": { want: all(403) },
  ...Object.fromEntries(
    [
      "",
      "/password",
      "/linked",
      "/sessions",
      "/security",
      "/security/app",
      "/security/passkeys",
    ].flatMap((page) => [
      // Visitors who are not signed in are redirected to sign in.
      [`GET /account${page}`, { want: [303, 303, 303, 303, 200, 200, 200, 200, 303] }],
      [`POST /account${page}`, { want: all(403) }],
    ]),
  ),
  // Only a person who has proven the password can open the page of the second factor.
  "GET /second-factor": { want: [303, 303, 200, 303, 303, 303, 303, 303, 303] },
  "POST /second-factor": { want: all(403) },
  "GET /add-second-factor": { want: all(303) },
  // Without the pages' cookie there is no session to end. With it, the form lacks its token.
  "GET /sign-out": { want: [303, 303, 303, 303, 200, 200, 200, 200, 303] },
  "POST /sign-out": { want: [303, 403, 303, 403, 403, 403, 403, 403, 303] },
  "GET /forgot": { want: all(200) },
  "POST /forgot": { want: all(403) },
  "GET /set-password": { want: all(404) },
  "POST /set-password": { want: all(403) },
  // As a page of the app sends it.
  "POST /session-key": {
    path: "/session-key?app=matrix",
    headers: { origin: ORIGIN, "content-type": "application/json" },
    want: [401, 401, 401, 401, 403, 200, 200, 200, 401],
  },
  // The provider is unavailable, and no sign-in with it has started.
  "GET /oidc/:provider": { path: "/oidc/away", want: all(503) },
  "GET /oidc/:provider/callback": { path: "/oidc/away/callback?code=x&state=x", want: all(400) },
};
const PARAMETERS = { table: "todos", seq: "1", id: "x" };

for (const { method, path, access } of routes) {
  // The app has no table and no migration. A request that writes has no body.
  if (access === "key")
    WANT[`${method} ${path}`] = {
      path: fillPath(path, PARAMETERS),
      want: keyOnly(path.includes(":") ? 404 : method === "GET" ? 200 : 415),
    };
  // An API key is of no person.
  if (path === "/v1/data/me")
    WANT[`${method} ${path}`] = { path: `${path}?app=matrix`, want: keyOnly(403) };
  if (access === "session")
    WANT[`${method} ${path}`] = {
      path: `${path}?app=matrix`,
      want: [401, 401, 401, 401, 403, 200, 200, 200, 401],
    };
}
WANT["GET /console/docs"] = { want: all(303) };
WANT["GET /console/sign-in"] = { want: all(200) };
WANT["POST /console/sign-in"] = { want: all(403) };

for (const former of Object.keys(MOVED))
  for (const ending of ["", ".md"]) WANT[`GET /docs/${former}${ending}`] = { want: all(308) };
for (const { path } of docs) WANT[`GET ${path}`] ??= { want: all(200) };

/** `test/console/matrix_test.ts` tries the other pages of the Console. */
const everyRoute = [...routes, ...docs, ...pages]
  .filter(({ path }) => !/^\/(?:assets\/|console(?!\/(?:sign-in|docs)$))/.test(path))
  .map(({ method, path }) => `${method} ${path}`);

const service = await share(
  openTestService({
    service: { previews: PREVIEWS },
    identity: () => ({
      cookieDomain: "example.org",
      providers: [AWAY],
      requireSecondFactor: "none",
    }),
  }),
);
const app = await service.makeApp(undefined, { slug: "matrix", origins: [ORIGIN] });
await setAppSwitch(service.service, app.slug, ["people_list", true]);
await openToBrowsers(service, app);
const jars = await fillJars();

/** New for every exchange that can end a session. */
async function fillJars(): Promise<Map<Visitor, Jar>> {
  const people = {
    expired: await makePerson(service, { app }),
    disabled: await makePerson(service, { app }),
    "no role": await makePerson(service),
    role: await makePerson(service, { app }),
    admin: await makePerson(service, { consoleRole: "admin" }),
    super_admin: await makePerson(service, { consoleRole: "super_admin" }),
  };
  const made = new Map<Visitor, Jar>();
  for (const [visitor, person] of Object.entries(people))
    made.set(visitor as Visitor, await signInAs(service, person));
  await service.query("update rowhouse.sessions set expires_at = now() where id = $1", [
    made.get("expired")?.get(SESSION_COOKIE)?.slice(0, 16) ?? "",
  ]);
  const { person } = await enrolPerson(
    service,
    await makePerson(service, { app, consoleRole: "super_admin" }),
  );
  made.set("pending", (await passPassword(service, person)).jar);
  await setDisabled({ admin: service.service.admin }, people.disabled.email, true);
  return made;
}

test("the matrix has a row for every route", () => {
  expect(Object.keys(WANT).sort()).toEqual([...everyRoute].sort());
});

test("signing out clears planted cookies from every path that reads the session", () => {
  const lines = clearPages({ ...DEFAULT_SETTINGS, cookieDomain: "example.org" });
  const cleared = new Set(lines.map((line) => /; Path=([^;]+)/.exec(line)?.[1]));
  const paths = routes
    .filter(({ access }) => access.endsWith("session"))
    .map(({ path }) => path)
    .concat(pageRoutes.map(({ path }) => path))
    .filter((path) => !path.startsWith("/assets/"))
    .map((path) => path.replace(/:.*/, ""));
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !cleared.has(path))).toEqual([]);
});

// A sign-out ends the session that the other rows need, so it comes last.
const order = [...everyRoute].sort(
  (a, b) => Number(a.includes("logout")) - Number(b.includes("logout")),
);

test.each(order)("%s returns the expected response to each visitor", async (endpoint) => {
  const { path, headers = {}, want } = WANT[endpoint] ?? { want: [] };
  const [method = "", template = ""] = endpoint.split(" ");
  const statuses: number[] = [];
  for (const visitor of VISITORS) {
    const jar = jars.get(visitor);
    const response = await service.call(visitor === "API key" ? app : undefined, path ?? template, {
      method,
      headers: {
        ...(jar === undefined ? {} : { cookie: toCookieHeader(jar) }),
        "sec-fetch-site": "same-origin",
        ...(pages.some((page) => page.path === template) && method === "POST"
          ? { origin: service.url, "content-type": "application/x-www-form-urlencoded" }
          : {}),
        ...headers,
      },
    });
    statuses.push(response.status);
  }
  const named = (list: readonly number[]) =>
    Object.fromEntries(VISITORS.map((visitor, i) => [visitor, list[i]]));
  expect(named(statuses)).toEqual(named(want));
});
