/** Operators learn the version of the service and of its processes; no response to anyone else contains it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RELEASE, RELEASE_TEXT } from "../../src/db/mod.ts";
import { PREVIEWS } from "../../src/preview.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { docs, pages, routes } from "../../src/service/routes.ts";
import { makePerson, signInAs, toCookieHeader } from "../support/people.ts";
import { fillPath } from "../support/samples/routes.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

let service: TestService;
let app: TestApp;
beforeAll(async () => {
  service = await openTestService({
    service: { previews: [...PREVIEWS] },
    identity: () => ({ cookieDomain: "example.org", requireSecondFactor: "none" }),
  });
  app = await service.makeApp(defineSchema({ todos: { title: t.string() } }), { slug: "wiki" });
});
afterAll(() => service.close());

/** The version is not a part of a longer number. */
const VERSION = new RegExp(
  [RELEASE_TEXT, RELEASE.code, RELEASE.version]
    .map((text) => `(?<![\\d.])${RegExp.escape(text)}(?![\\d.])`)
    .join("|"),
);

/** Reads first: some of the others end the session. */
const ENDPOINTS = [
  ...new Set([...routes, ...docs, ...pages].map(({ method, path }) => `${method} ${path}`)),
].sort();
const toId = (last: number) => `00000000-0000-7000-8000-00000000000${last}`;
const VALUES = {
  ...{ table: "todos", seq: "1", row: toId(1), id: toId(1), request: toId(2) },
  ...{ person: toId(3), session: "abcdefghijklmnop", provider: "none", key: "abcdefghijklmnop" },
  ...{ app: "wiki", column: "title", invitation: toId(4) },
};
/** Errors before any route. */
const OTHERS = ["GET /nowhere", "PUT /v1/data/db/todos", "GET /v1/data/db/%zz", "POST /console"];

/** Sends a request, and returns everything that the caller sees. */
async function see(endpoint: string, headers: Record<string, string>): Promise<string> {
  const [method = "", path = ""] = endpoint.split(" ");
  const stop = new AbortController();
  const response = await fetch(service.url + fillPath(path, VALUES), {
    method,
    headers,
    redirect: "manual",
    signal: stop.signal,
  });
  const head = JSON.stringify([...response.headers]);
  // The body of an event stream does not end.
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    stop.abort();
    return head;
  }
  return `${head}\n${await response.text()}`;
}

const CALLERS: Readonly<Record<string, () => Promise<Record<string, string>>>> = {
  "a stranger": async () => ({}),
  "a key": async () => ({ authorization: `Bearer ${app.key}` }),
  "a person without a role": async () => ({
    cookie: toCookieHeader(await signInAs(service, await makePerson(service))),
  }),
  "a person with a role": async () => ({
    cookie: toCookieHeader(await signInAs(service, await makePerson(service, { app }))),
  }),
};

test.each(Object.keys(CALLERS))("no route reveals the version to %s", async (caller) => {
  const headers = (await CALLERS[caller]?.()) ?? {};
  const revealing: string[] = [];
  const all = [...ENDPOINTS, ...OTHERS];
  for (const endpoint of all)
    if (VERSION.test(await see(endpoint, headers))) revealing.push(endpoint);
  expect(all.length).toBeGreaterThan(150);
  expect(revealing).toEqual([]);
});

describe("operators see the version", () => {
  test("in the footer of the Console, which its error pages do not have", async () => {
    const admin = await makePerson(service, { consoleRole: "admin" });
    const cookie = toCookieHeader(await signInAs(service, admin));
    expect(await see("GET /console", { cookie })).toContain(`Rowhouse ${RELEASE_TEXT}`);
    expect(await see("GET /console/apps/none", { cookie })).not.toMatch(VERSION);
  });

  test("in the metrics", async () => {
    const { adminFetch } = service.service;
    const metrics = await adminFetch(new Request("http://localhost/metrics"));
    const { version, tables, code } = RELEASE;
    expect(await metrics.text()).toContain(
      `rowhouse_build_info{version="${version}",tables="${tables}",code="${code}"} 1`,
    );
    for (const path of ["/live", "/ready", "/none"])
      expect(await (await adminFetch(new Request(`http://localhost${path}`))).text()).not.toMatch(
        VERSION,
      );
  });
});
