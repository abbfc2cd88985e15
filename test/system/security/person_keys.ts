/** Attempts for a person's key and a script in a page. The keys are the sentences of docs/security.md. @module */
import { expect } from "bun:test";
import { KEPT } from "../../../src/db/code/mod.ts";
import { SIGNALS } from "../../../src/db/mod.ts";
import { SESSION_KEY_PATH } from "../../../src/identity/mod.ts";
import { PERSON_BIT } from "../../../src/principal.ts";
import { setAppSwitch, setTargets } from "../../../src/records/apps/mod.ts";
import { grantRole, revokeRole, setDisabled } from "../../../src/records/people/mod.ts";
import { defineSchema, t } from "../../../src/schema/mod.ts";
import {
  identityCookie,
  type Jar,
  makePerson,
  type Person,
  sharedCookie,
  signInAs,
  visit,
} from "../../support/people.ts";
import { exchange, getPersonKey, openToBrowsers } from "../../support/person_keys.ts";
import { proofOf } from "../../support/proof.ts";
import type { TestApp, TestResponse } from "../../support/service.ts";
import { type Login, listCall, type Page, type World } from "./world.ts";

const NOTES = "/v1/data/db/notes";
const SCHEMA = defineSchema({
  notes: t
    .model({
      ...{ title: t.string().required(), owner: t.uuid().required().owner() },
      salary: t.integer().only("clerk"),
    })
    .index("owner", "id")
    .allow("member", { read: { owner: "me" }, create: true, update: { owner: "me" } })
    .allow("clerk", { read: true }),
  secrets: t.model({ title: t.string() }),
});

/** Expects that the login learns of a person's key that it knows no more than the ids, even by the function of 0.1.0. */
export async function readsNoCaller(world: World, login: Login): Promise<void> {
  const { app, ada, key } = await openPage(world);
  const call = (name: string) =>
    `select rowhouse.${name}('${app.id}', ${proofOf(key)}, '${app.slug}') as person`;
  await world.rejects(login, [call("read_caller")]);
  await world.service.service.admin.message(
    [...Object.values(KEPT.functions), ...KEPT.rights, "select 1"].join(";\n"),
  );
  const person = { id: ada.id, email: null, displayName: null, avatarUrl: null, role: "member" };
  expect((await world.tryAs(login, call("read_key_person"))).rows).toEqual([{ person }]);
  const whole = { person: expect.objectContaining({ id: ada.id, email: ada.email }) };
  for (const other of ["all", "identity"] as const)
    expect((await world.tryAs(other, call("read_caller"))).rows).toEqual([whole]);
  expect((await world.tryAs("all", call("read_key_person"))).rows).toEqual([whole]);
}

/** Two people of an app whose pages read its rows under rules, each with a note, and the key of one of them. */
type OpenedPage = {
  app: TestApp;
  origin: string;
  ada: Person;
  jar: Jar;
  key: string;
  foreign: string;
};

export async function openPage({ service }: World): Promise<OpenedPage> {
  const origin = `https://a${crypto.randomUUID().slice(0, 8)}.example.org`;
  const app = await service.makeApp(SCHEMA, { origins: [origin] });
  await openToBrowsers(service, app);
  const [ada, bob] = [await makePerson(service, { app }), await makePerson(service, { app })];
  await service.service.warm();
  const jar = await signInAs(service, ada);
  const open = async (cookies: Jar) => (await getPersonKey(service, { cookies, app, origin })).key;
  const ofBob = await open(await signInAs(service, bob));
  const made = await service.call(app, NOTES, {
    method: "POST",
    json: { title: "Bob's" },
    key: ofBob,
  });
  const key = await open(jar);
  await service.call(app, NOTES, { method: "POST", json: { title: "Ada's" }, key });
  return { app, origin, ada, jar, key, foreign: (made.json as { id: string }).id };
}

const list = ({ service }: World, { app, key }: OpenedPage): Promise<TestResponse> =>
  service.call(app, NOTES, { key });

const ofSession = (world: World, page: OpenedPage, cookies: Jar | string) =>
  exchange(world.service, { ...page, cookies });

/** Ends that take effect with the next statement. */
async function endsAtOnce(world: World): Promise<void> {
  const { service } = world;
  const actor = { admin: service.service.admin };
  const ends: readonly ((page: OpenedPage) => Promise<unknown>)[] = [
    ({ jar }) =>
      service.call(undefined, "/v1/auth/logout", {
        method: "POST",
        headers: { cookie: sharedCookie(jar) },
      }),
    ({ app, ada }) => grantRole(actor, { email: ada.email, slug: app.slug, role: "viewer" }),
    ({ app, ada }) => revokeRole(actor, { email: ada.email, slug: app.slug }),
    ({ ada }) => setDisabled(actor, ada.email, true),
    ({ app }) => setAppSwitch(actor, app.slug, ["disabled", true]),
    ({ app }) => setAppSwitch(actor, app.slug, ["browser", false]),
    ({ app, origin }) =>
      setTargets(actor, {
        ...{ slug: app.slug, replaced: [], cookieDomain: "example.org" },
        add: { origins: [], redirects: [] },
        remove: { origins: [origin], redirects: [] },
      }),
  ];
  for (const end of ends) {
    const page = await openPage(world);
    expect((await list(world, page)).status).toBe(200);
    await end(page);
    expect([end.toString(), (await list(world, page)).status]).toEqual([end.toString(), 401]);
  }
}

export const PERSON_KEYS: Page = {
  "A person's key": {
    Can: {
      "read and write the rows of one app that its rules allow the person, also outside a browser, for max 10 minutes.":
        async (world) => {
          const page = await openPage(world);
          const { json } = await list(world, page);
          expect(json).toMatchObject({ rows: [{ title: "Ada's", owner: page.ada.id }] });
          const { status } = await world.service.call(page.app, NOTES, {
            method: "POST",
            json: { title: "made" },
            key: page.key,
          });
          expect(status).toBe(201);
          const [{ seconds } = { seconds: undefined }] = (
            await world.tryAs(
              "admin",
              "select extract(epoch from max(expires_at - created_at))::float8 as seconds from rowhouse.person_keys",
            )
          ).rows;
          expect(seconds).toBe(600);
        },
      "use up the rate limit of the person on the app, 6,000 requests a minute, and count for the app's.":
        async (world) => {
          const { headers } = await list(world, await openPage(world));
          expect(headers.get("ratelimit-policy")).toMatch(
            /^"app";q=\d+;w=60, "person";q=6000;w=60$/,
          );
        },
      "learn from the tag of a page that a row in it was written, even if no column that it sees has changed.":
        async (world) => {
          const page = await openPage(world);
          const before = await list(world, page);
          const [row] = (before.json as { rows: { id: string }[] }).rows;
          const path = `${NOTES}/${row?.id}`;
          await world.service.call(page.app, path, { method: "PATCH", json: { salary: 1 } });
          const after = await list(world, page);
          expect(after.json).toEqual(before.json);
          expect(after.headers.get("etag")).not.toBe(before.headers.get("etag") ?? "");
        },
    },
    Cannot: {
      "reach a row that the rules do not allow, or learn whether it exists, or use a table without rules.":
        async (world) => {
          const page = await openPage(world);
          const { app, key, foreign } = page;
          const missing = Bun.randomUUIDv7();
          for (const method of ["GET", "PATCH"]) {
            const [hidden, absent] = await Promise.all(
              [foreign, missing].map((id) =>
                world.service.call(app, `${NOTES}/${id}`, {
                  ...{ method, key },
                  ...(method === "GET" ? {} : { json: { title: "mine" } }),
                }),
              ),
            );
            const comparable = ({ status, text = "" }: TestResponse) =>
              `${status} ${text.replaceAll(/[0-9a-f-]{36}/g, "id")}`;
            expect(hidden && comparable(hidden)).toStartWith("404 ");
            expect(hidden && comparable(hidden)).toBe((absent && comparable(absent)) ?? "");
          }
          expect((await list(world, page)).text).not.toContain("Bob's");
          const tried = [
            await world.service.call(app, `${NOTES}/${foreign}`, { method: "DELETE", key }),
            await world.service.call(app, "/v1/data/db/secrets", { key }),
          ];
          expect(tried.map(({ status }) => status)).toEqual([403, 403]);
        },
      "read or push a schema, describe tables, or open another app.": async (world) => {
        const { app, key } = await openPage(world);
        const { service } = world;
        const tried = [
          await service.call(app, "/v1/data/schema", { key }),
          await service.call(app, "/v1/data/schema", { method: "POST", json: { steps: [] }, key }),
          await service.call(app, "/v1/openapi.json", { key }),
        ];
        expect(tried.map(({ status }) => status)).toEqual([403, 403, 401]);
        await world.rejects("data", [listCall(world.other, proofOf(key))], SIGNALS.keyRejected);
      },
      "call a function for API keys, even with the data service's login. An API key cannot call a function for people.":
        async (world) => {
          const { app, key } = await openPage(world);
          const { rows } = await world.tryAs(
            "admin",
            "select proname as name from pg_proc where pronamespace = 'api'::regnamespace and proname ~ '^notes__[0-9a-f]+_list$'",
          );
          const call = (proof: string, name: unknown) =>
            world.tryAs(
              "data",
              `select api."${name}"('${app.id}', ${proof}, 10, 0, 100000, null, null) as body`,
            );
          const opened = async (proof: string) => {
            const names: unknown[] = [];
            for (const { name } of rows)
              if ((await call(proof, name)).code === "") names.push(name);
            return names;
          };
          const [ofPerson, ofServer] = [await opened(proofOf(key)), await opened(proofOf(app.key))];
          expect([ofPerson.length, ofServer.length]).toEqual([1, 1]);
          expect(ofPerson).not.toEqual(ofServer);
        },
      "be used after the session ends, the role changes, the person, the app or its browser access is turned off, or the origin of its page is removed.":
        async (world) => {
          const page = await openPage(world);
          const renewed = await world.service.call(
            undefined,
            `${SESSION_KEY_PATH}?app=${page.app.slug}`,
            {
              method: "POST",
              headers: { origin: page.origin, authorization: `Bearer ${page.key}` },
              json: {},
            },
          );
          expect(renewed.status).toBe(401);
          await endsAtOnce(world);
        },
    },
  },
  "A script in a page of an app": {
    Can: {
      "do what the page can as its person, and get new keys of this app while the page is open.":
        async (world) => {
          const page = await openPage(world);
          const { status, headers } = await ofSession(world, page, page.jar);
          expect([status, headers.get("access-control-allow-origin")]).toEqual([200, page.origin]);
        },
    },
    Cannot: {
      "read a cookie, get a key of another app, or open the sign-in pages or the Console.": async (
        world,
      ) => {
        const page = await openPage(world);
        const another = await openPage(world);
        const cookies = (await visit(world.service, new Map(), "/login")).headers.getSetCookie();
        const { headers } = await ofSession(world, page, page.jar);
        expect(
          [...cookies, ...headers.getSetCookie()].every((line) => /; HttpOnly/.test(line)),
        ).toBe(true);
        const { status, headers: refused } = await ofSession(
          world,
          { ...another, origin: page.origin },
          page.jar,
        );
        expect([status, refused.get("access-control-allow-origin")]).toEqual([403, null]);
        const opened = await world.service.call(undefined, "/account", {
          headers: {
            origin: page.origin,
            cookie: [...page.jar].map((pair) => pair.join("=")).join("; "),
          },
        });
        expect(opened.headers.get("access-control-allow-origin")).toBeNull();
      },
    },
  },
};

/** A session's cookie alone, as a sibling's server has it. */
export async function opensNoRows(world: World): Promise<void> {
  const page = await openPage(world);
  for (const cookies of [sharedCookie(page.jar), identityCookie(page.jar)])
    expect((await ofSession(world, page, cookies)).status).toBe(401);
  const { status } = await world.service.call(undefined, NOTES, {
    headers: { cookie: sharedCookie(page.jar), origin: page.origin },
  });
  expect(status).toBe(401);
}

/** A serving login without both cookies. */
export async function getsNoPersonKey(world: World, login: Login): Promise<void> {
  const page = await openPage(world);
  const { rows } = await world.tryAs(
    "admin",
    `select id, encode(session_digest, 'hex') as shared, encode(identity_digest, 'hex') as own
      from rowhouse.sessions where user_id = '${page.ada.id}'`,
  );
  const open = (shared: string, own: string) =>
    `select life_s, person from rowhouse.open_person_key('${shared}', '${own}', 86400, '', '${page.app.slug}',
      '${page.origin}', false, sha256('x'), 'aaaaaaaaaaaaaaaa', sha256('y'))`;
  const [stored] = rows;
  for (const call of [
    open(`${stored?.["id"]}.${stored?.["shared"]}`, `${stored?.["id"]}.${stored?.["own"]}`),
    open("", ""),
    open(`${stored?.["id"]}.`, `${stored?.["id"]}.`),
  ])
    expect((await world.tryAs(login, call)).rows).toEqual([{ life_s: null, person: null }]);
  await world.rejects(login, [
    "select * from rowhouse.person_keys",
    "select * from rowhouse.session_apps",
    "insert into rowhouse.person_keys (key_id) values ('aaaaaaaaaaaaaaaa')",
    "update rowhouse.person_keys set expires_at = 'infinity', role = 'admin'",
    "delete from rowhouse.person_keys",
    `select rowhouse.put_proof('${page.app.id}', sha256('x'), ${PERSON_BIT}::smallint, null, '${page.ada.id}', 'admin')`,
    `select rowhouse.end_keys_of('${page.ada.id}', null)`,
    `select rowhouse.end_page_keys('${page.app.id}', null)`,
    "select rowhouse.sweep_person_keys()",
    "select rowhouse.log_person_key(null, 'aaaaaaaaaaaaaaaa')",
  ]);
  for (const other of ["gateway", "data", "console", "push"] as const)
    await world.rejects(other, [open("", "")]);
}
