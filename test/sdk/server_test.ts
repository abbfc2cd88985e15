/** The client of an app's own server: whom it accepts, with keys that pages of the service's apps opened. */
import { describe, expect, test } from "bun:test";
import { revokeRole } from "../../src/records/people/mod.ts";
import { DataError } from "../../src/sdk/data.ts";
import { createServerClient } from "../../src/sdk/server.ts";
import { makePerson, type Person, signInAs } from "../support/people.ts";
import { getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const ORIGIN = "https://wiki.example.org";
const SIBLING = "https://blog.example.org";

const service = await share(openTestService({ service: { previews: ["browser"] } }));
const app = await service.makeApp(undefined, { origins: [ORIGIN] });
const sibling = await service.makeApp(undefined, { origins: [SIBLING] });
for (const each of [app, sibling]) await openToBrowsers(service, each);
await service.service.warm();
const ada = await makePerson(service, { name: "Ada", app, role: "editor" });
const key = await openKey(ada, app, ORIGIN);

async function openKey(person: Person, of: TestApp, origin: string): Promise<string> {
  const cookies = await signInAs(service, person);
  return (await getPersonKey(service, { cookies, app: of, origin })).key;
}

const connect = (slug = app.slug) => createServerClient({ url: service.url, app: slug });
const verify = (headers: Record<string, string>, slug?: string) =>
  connect(slug)
    .verify({ headers })
    .then(
      ({ user }) => user,
      (error: unknown) => (error instanceof DataError ? [error.status, error.code] : error),
    );
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

describe("a server of the app", () => {
  test("learns the person of a key, from headers of fetch and of node:http", async () => {
    const user = {
      id: ada.id,
      email: ada.email,
      displayName: "Ada",
      avatarUrl: null,
      role: "editor",
    };
    expect(await verify(bearer(key))).toEqual(user);
    const request = new Request("http://localhost/", { headers: bearer(key) });
    expect((await connect().verify(request)).user).toEqual(user);
  });

  test.each([
    { name: "no key", headers: () => ({}), want: [401, "unauthenticated"] },
    {
      name: "another scheme",
      headers: () => ({ authorization: `Basic ${key}` }),
      want: [401, "unauthenticated"],
    },
    {
      name: "an unknown key",
      headers: () => bearer(`${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`),
      want: [401, "unauthenticated"],
    },
    { name: "the app's API key", headers: () => bearer(app.key), want: [403, "forbidden"] },
  ])("rejects $name", async ({ headers, want }) => {
    expect(await verify(headers())).toEqual(want);
  });

  test("asks no service about a request without a key", async () => {
    const unreachable = createServerClient({ url: "http://127.0.0.1:1", app: "wiki", retries: 0 });
    await expect(unreachable.verify({ headers: {} })).rejects.toMatchObject({
      status: 401,
      code: "unauthenticated",
    });
  });

  test("rejects a key of a sibling's page, which the sibling's person sent here", async () => {
    const eve = await makePerson(service, { app: sibling, role: "editor" });
    const theirs = await openKey(eve, sibling, SIBLING);
    expect(await verify(bearer(theirs))).toEqual([403, "forbidden"]);
    expect(await verify(bearer(theirs), sibling.slug)).toMatchObject({ id: eve.id });
  });

  test("rejects a key after the role is revoked", async () => {
    const bob = await makePerson(service, { app, role: "editor" });
    const ending = await openKey(bob, app, ORIGIN);
    expect(await verify(bearer(ending))).toMatchObject({ id: bob.id });
    await revokeRole({ admin: service.service.admin }, { email: bob.email, slug: app.slug });
    expect(await verify(bearer(ending))).toEqual([401, "unauthenticated"]);
  });

  test("names the preview if the service lacks it", async () => {
    await using plain = await openTestService({ service: { previews: [] } });
    const { key: apiKey, slug } = await plain.makeApp();
    const failure = await createServerClient({ url: plain.url, app: slug })
      .verify({ headers: bearer(apiKey) })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "unknown_route" });
    expect((failure as Error).message).toContain("PREVIEW=browser");
  });

  test.each<{ url?: string; retries?: number; timeoutMs?: number }>([
    { url: "api.example.org" },
    { retries: -1 },
    { timeoutMs: 0 },
  ])("rejects the settings %p when the client is created", (options) => {
    expect(() => createServerClient({ url: service.url, app: "wiki", ...options })).toThrow(
      TypeError,
    );
  });
});

describe("GET /v1/data/me", () => {
  test.each<{ query: string; want: [number, string] }>([
    { query: "", want: [400, "invalid_query"] },
    { query: "?app=wiki&app=blog", want: [400, "invalid_query"] },
    { query: "?app=Wiki", want: [400, "invalid_query"] },
    { query: "?app=wiki&limit=1", want: [400, "unsupported_query"] },
  ])("rejects %p", async ({ query, want }) => {
    const { status, json } = await service.call(undefined, `/v1/data/me${query}`, { key });
    expect([status, Object(json).error]).toEqual(want);
  });

  test("is never stored, and readable for the app's pages", async () => {
    const { headers } = await service.call(undefined, `/v1/data/me?app=${app.slug}`, {
      key,
      headers: { origin: ORIGIN },
    });
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("access-control-allow-origin")).toBe(ORIGIN);
  });
});
