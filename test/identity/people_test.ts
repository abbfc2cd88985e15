/** The people of an app: listed for a person with a role on it, if its setting allows it, and never with an address. */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { setDisabled } from "../../src/records/people/mod.ts";
import { MAX_PEOPLE } from "../../src/std/limits.ts";
import { openAdmin } from "../support/admin.ts";
import { listAudit } from "../support/lists.ts";
import {
  type Jar,
  makePerson,
  sharedCookie,
  signInAs,
  submitForm,
  visit,
} from "../support/people.ts";
import { invite } from "../support/provider_people.ts";
import { share } from "../support/share.ts";

const ORIGIN = "https://people.example.org";

const admin = await share(openAdmin());
const service = admin.service;
const app = await service.makeApp(undefined, { origins: [ORIGIN] });
const other = await service.makeApp();
const editor = await makePerson(service, { name: "Ada", app, role: "editor" });
const member = await makePerson(service, { app });
const chief = await makePerson(service, { consoleRole: "admin" });
await makePerson(service, { name: "Elsewhere", app: other });
const jar = await signInAs(service, editor);
await setAppSwitch(service.service, app.slug, ["people_list", true]);
await service.service.warm();

function people(query: string, of: Jar | undefined = jar, headers: Record<string, string> = {}) {
  const cookie = of === undefined ? {} : { cookie: sharedCookie(of) };
  return service.call(undefined, `/v1/auth/people${query}`, { headers: { ...headers, ...cookie } });
}

test("GET /v1/auth/people lists the people with a role by id, without addresses", async () => {
  const response = await people(`?app=${app.slug}`, jar, { origin: ORIGIN });
  const wanted = [
    { id: editor.id, displayName: "Ada", avatarUrl: null, role: "editor" },
    { id: member.id, displayName: null, avatarUrl: null, role: "member" },
  ].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  expect([response.status, response.json]).toEqual([200, { people: wanted, next: null }]);
  expect(response.text).not.toContain("@");
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
  const foreign = await people(`?app=${app.slug}`, jar, { origin: "https://other.example.org" });
  expect(foreign.headers.get("access-control-allow-origin")).toBeNull();
});

test("an administrator lists the people, and is listed as admin only with a role on the app", async () => {
  const listed = async () => {
    const { json } = await people(`?app=${app.slug}`, await signInAs(service, chief));
    const found = (json as { people: { id: string; role: string }[] }).people;
    return found.find(({ id }) => id === chief.id)?.role;
  };
  expect(await listed()).toBeUndefined();
  expect(await admin.run("grant", chief.email, app.slug, "viewer", "--new-role")).toMatchObject({
    code: 0,
  });
  expect(await listed()).toBe("admin");
  expect(await admin.run("revoke", chief.email, app.slug)).toMatchObject({ code: 0 });
});

test("pages are linked by next, and no page has more than 1,000 people", async () => {
  const crowded = await service.makeApp();
  await setAppSwitch(service.service, crowded.slug, ["people_list", true]);
  await admin.run("grant", editor.email, crowded.slug, "editor");
  await service.query(
    `with made as (insert into rowhouse.users (id, email)
      select gen_random_uuid(), concat('crowd-', n, '@example.org') from generate_series(1, 1000) as n
      returning id)
    insert into rowhouse.grants (user_id, app_id, role) select id, $1, 'member' from made`,
    [crowded.id],
  );
  type Page = { people: { id: string }[]; next: string | null };
  const read = async (query: string) => (await people(`?app=${crowded.slug}${query}`)).json as Page;
  const first = await read("&limit=999999");
  expect(first.people.length).toBe(MAX_PEOPLE);
  const second = await read(`&after=${first.next?.toUpperCase()}`);
  expect([second.people.length, second.next]).toEqual([1, null]);
  const ids = [...first.people, ...second.people].map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].toSorted());
  expect(ids).toContain(editor.id);
  const small = await read("&limit=2");
  expect([small.people.map(({ id }) => id), small.next]).toEqual([ids.slice(0, 2), ids[1] ?? null]);
});

test.each([
  { name: "no app", query: "" },
  { name: "a repeated app", query: "?app=wiki&app=wiki" },
  { name: "a malformed app", query: "?app=A%20B" },
  { name: "an invalid id in after", query: "?app=wiki&after=x" },
  {
    name: "an id in braces in after",
    query: "?app=wiki&after={0190163d-8694-739b-aea5-966c26f8ad91}",
  },
  { name: "a limit of 0", query: "?app=wiki&limit=0" },
  { name: "a limit with letters", query: "?app=wiki&limit=20abc" },
  { name: "a repeated limit", query: "?app=wiki&limit=1&limit=2" },
  { name: "an unknown parameter", query: "?app=wiki&email=a" },
])("rejects $name", async ({ query }) => {
  const response = await people(query);
  expect([response.status, response.text]).toEqual([400, '{"error":"invalid_request"}']);
});

test("the list requires a session, a role and the setting", async () => {
  const codeOf = async (query: string, of?: Jar) => {
    const { status, json } = await people(query, of);
    return [status, Object(json).error];
  };
  const { status } = await service.call(app, `/v1/auth/people?app=${app.slug}`);
  expect(status).toBe(401);
  expect(await codeOf(`?app=${app.slug}`, new Map())).toEqual([401, "unauthenticated"]);
  expect(await codeOf("?app=no-such-app")).toEqual([404, "unknown_app"]);
  await setAppSwitch(service.service, other.slug, ["people_list", true]);
  expect(await codeOf(`?app=${other.slug}`)).toEqual([403, "forbidden"]);
  const silent = await service.makeApp();
  await admin.run("grant", editor.email, silent.slug, "editor");
  expect(await codeOf(`?app=${silent.slug}`)).toEqual([403, "forbidden"]);
  await setAppSwitch(service.service, silent.slug, ["people_list", true]);
  expect((await people(`?app=${silent.slug}`)).status).toBe(200);
  await setAppSwitch(service.service, silent.slug, ["disabled", true]);
  expect(await codeOf(`?app=${silent.slug}`)).toEqual([404, "unknown_app"]);
});

test("a disabled person is not listed, and an invited person is", async () => {
  const shared = await service.makeApp();
  await setAppSwitch(service.service, shared.slug, ["people_list", true]);
  const [left, invited] = [await makePerson(service), await invite(service)];
  for (const { email } of [editor, left, invited])
    await admin.run("grant", email, shared.slug, "member");
  await setDisabled(service.service, left.email, true);
  const { json } = await people(`?app=${shared.slug}`);
  const ids = (json as { people: { id: string }[] }).people.map(({ id }) => id);
  expect(ids).toEqual([editor.id, invited.id].toSorted());
});

test("a person with only an unproven claimed role is not listed and cannot list", async () => {
  const claimed = await service.makeApp();
  await setAppSwitch(service.service, claimed.slug, ["people_list", true]);
  await admin.run("grant", editor.email, claimed.slug, "editor");
  await service.query(
    `insert into rowhouse.grants (user_id, app_id, role, provider, digest, secret_id)
      values ($1, $2, 'editor', 'ours', sha256('x'), 'x')`,
    [member.id, claimed.id],
  );
  const { json } = await people(`?app=${claimed.slug}`);
  expect((json as { people: { id: string }[] }).people.map(({ id }) => id)).toEqual([editor.id]);
  expect((await people(`?app=${claimed.slug}`, await signInAs(service, member))).status).toBe(403);
});

test("an operator and an administrator turn the list on and off", async () => {
  const { slug } = await service.makeApp();
  expect(await admin.run("set-app", slug, "people-list", "on")).toMatchObject({ code: 0 });
  expect((await admin.run("set-app", slug, "people-list", "on")).err).toContain("already on");
  const console = await signInAs(service, chief);
  const path = `/console/apps/${slug}`;
  expect((await visit(service, console, `${path}/settings`)).text).toContain(
    `${path}/set-people-list`,
  );
  const sent = await submitForm(service, console, { path: `${path}/set-people-list` });
  expect(sent.status).toBe(303);
  const entries = await listAudit(service.service, 20);
  expect(entries.filter((entry) => entry.app === slug).slice(0, 2)).toMatchObject([
    { actor: chief.id, action: "set_people_list_off", app: slug },
    { actor: "operator", action: "set_people_list_on", app: slug },
  ]);
});
