/** A person's key ends with everything that it depends on, in the statement that changes it, also if both happen at once. */
import { beforeEach, describe, expect, test } from "bun:test";
import { deleteApp, setAppSwitch, setTargets } from "../../src/records/apps/mod.ts";
import {
  giveConsoleRole,
  grantRole,
  removeConsoleRole,
  revokeRole,
  runOnPerson,
  setDisabled,
} from "../../src/records/people/mod.ts";
import { casesBy } from "../support/cases.ts";
import { testDeps } from "../support/deps.ts";
import { type Jar, makePerson, type Person, sharedCookie, signInAs } from "../support/people.ts";
import { exchange, getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const ORIGIN = "https://wiki.example.org";
const OTHER_ORIGIN = "https://blog.example.org";
const MOVED_ORIGIN = "https://moved.example.org";

let app: TestApp;
let other: TestApp;
const service = await share(
  openTestService({
    identity: () => ({ cookieDomain: "example.org" }),
    service: { previews: ["browser"] },
  }),
);

let world: { ada: Person; jar: Jar; bob: Person };
beforeEach(async () => {
  app = await service.makeApp(undefined, { origins: [ORIGIN, MOVED_ORIGIN] });
  other = await service.makeApp(undefined, { origins: [OTHER_ORIGIN] });
  for (const each of [app, other]) await openToBrowsers(service, each);
  const [ada, bob] = [await makePerson(service, { app }), await makePerson(service, { app })];
  await grantRole(service.service, { email: ada.email, slug: other.slug, role: "member" });
  world = { ada, jar: await signInAs(service, ada), bob };
  await service.service.warm();
});

/** The keys of a person on an app, and the proofs that the database accepts for them. */
async function countKeys(person: Person, { id }: TestApp): Promise<[keys: number, proofs: number]> {
  const [found] = await service.query<{ keys: number; proofs: number }>(
    `select (select count(*)::int4 from rowhouse.person_keys
        where app_id = $1::uuid and person_id = $2::uuid) as keys,
      (select count(*)::int4 from rowhouse.enter_app($1::uuid),
        lateral (select from rowhouse.proofs where app_id = $1::uuid and person_id = $2::uuid) as found) as proofs`,
    [id, person.id],
  );
  return [found?.keys ?? -1, found?.proofs ?? -1];
}

const openKey = (jar = world.jar) => exchange(service, { cookies: jar, app, origin: ORIGIN });
const actor = () => ({ admin: service.service.admin });
const signOut = () =>
  service.call(undefined, "/v1/auth/logout", {
    method: "POST",
    headers: { cookie: sharedCookie(world.jar), origin: ORIGIN },
  });
const targets = (change: { add?: string[]; remove?: string[] }) =>
  setTargets(actor(), {
    ...{ slug: app.slug, replaced: [], cookieDomain: "example.org" },
    add: { origins: change.add ?? [], redirects: [] },
    remove: { origins: change.remove ?? [], redirects: [] },
  });

/** What ends keys: those of the person, or only those of the person at the app. */
const ENDS = casesBy<() => Promise<unknown>>({
  "every key": {
    "a sign-out": signOut,
    "the end of all sessions of the person": () =>
      runOnPerson(actor(), "end_sessions", world.ada.email),
    "a deleted session": () =>
      service.query("delete from rowhouse.sessions where user_id = $1", [world.ada.id]),
    "a Console role": () => giveConsoleRole(testActor(), world.ada.email, "admin"),
    "a disabled person": () => setDisabled(actor(), world.ada.email, true),
    "a deleted person": () => runOnPerson(actor(), "delete_user", world.ada.email),
  },
  "the key of the app": {
    "another role": () =>
      grantRole(actor(), { email: world.ada.email, slug: app.slug, role: "viewer" }),
    "a revoked role": () => revokeRole(actor(), { email: world.ada.email, slug: app.slug }),
    "a disabled app": () => setAppSwitch(actor(), app.slug, ["disabled", true]),
    "browser access turned off": () => setAppSwitch(actor(), app.slug, ["browser", false]),
    "a removed origin": () => targets({ remove: [ORIGIN] }),
    "a deleted app": () => deleteApp(deletion(), app.slug),
  },
});

const testActor = () => ({ ...testDeps(service.service), db: service.service.db });
const deletion = () => ({ ...testDeps(service.service), rows: service.service.admin });

test.each(ENDS)("$name ends $expected", async ({ value: end, expected }) => {
  await getPersonKey(service, { cookies: world.jar, app, origin: ORIGIN });
  await getPersonKey(service, { cookies: world.jar, app: other, origin: OTHER_ORIGIN });
  expect(await countKeys(world.ada, app)).toEqual([1, 1]);
  await end();
  expect(await countKeys(world.ada, app)).toEqual([0, 0]);
  expect(await countKeys(world.ada, other)).toEqual(expected === "every key" ? [0, 0] : [1, 1]);
});

test("what does not concern the key leaves it", async () => {
  await getPersonKey(service, { cookies: world.jar, app, origin: ORIGIN });
  await revokeRole(actor(), { email: world.bob.email, slug: app.slug });
  await setDisabled(actor(), world.bob.email, true);
  await targets({ remove: [MOVED_ORIGIN], add: ["https://new.example.org"] });
  await setAppSwitch(actor(), app.slug, ["people_list", true]);
  await grantRole(actor(), { email: world.ada.email, slug: other.slug, role: "viewer" });
  expect(await countKeys(world.ada, app)).toEqual([1, 1]);
});

test("the next key has the new role, and a revoked role gives none", async () => {
  await grantRole(actor(), { email: world.ada.email, slug: app.slug, role: "viewer" });
  expect((await openKey()).json).toMatchObject({ user: { role: "viewer" } });
  await revokeRole(actor(), { email: world.ada.email, slug: app.slug });
  const { status, json } = await openKey();
  expect([status, json]).toEqual([403, { error: "forbidden" }]);
});

test("an administrator who loses the Console role loses the key", async () => {
  const grace = await makePerson(service, { consoleRole: "admin" });
  const jar = await signInAs(service, grace);
  expect((await openKey(jar)).status).toBe(200);
  await removeConsoleRole(actor(), grace.email);
  expect(await countKeys(grace, app)).toEqual([0, 0]);
  expect((await openKey(jar)).status).toBe(403);
});

test("a key ends with the session, and after the idle limit", async () => {
  const lifeOf = async () =>
    (await getPersonKey(service, { cookies: world.jar, app, origin: ORIGIN })).expiresInS;
  expect(await lifeOf()).toBeGreaterThan(570);
  await service.query(
    "update rowhouse.sessions set expires_at = now() + interval '90 seconds' where user_id = $1",
    [world.ada.id],
  );
  expect(await lifeOf()).toBeWithin(60, 91);
  await using hasty = await openTestService({
    identity: () => ({ cookieDomain: "example.org", sessionIdleS: 45 }),
    service: { previews: ["browser"] },
  });
  const idle = await hasty.makeApp(undefined, { origins: [ORIGIN] });
  await openToBrowsers(hasty, idle);
  const cookies = await signInAs(hasty, await makePerson(hasty, { app: idle }));
  await hasty.service.warm();
  const { expiresInS } = await getPersonKey(hasty, { cookies, app: idle, origin: ORIGIN });
  expect(expiresInS).toBeWithin(30, 46);
});

test("expired keys and their proofs are deleted with the next exchange of anyone", async () => {
  await getPersonKey(service, { cookies: world.jar, app, origin: ORIGIN });
  await service.query("update rowhouse.person_keys set expires_at = now() - interval '1 second'");
  await getPersonKey(service, { cookies: world.jar, app: other, origin: OTHER_ORIGIN });
  expect(await countKeys(world.ada, app)).toEqual([0, 0]);
});

describe("an exchange at the same time", () => {
  const again = async () => {
    world = { ...world, jar: await signInAs(service, world.ada) };
  };
  const role = () => ({ email: world.ada.email, slug: app.slug, role: "member" });
  const turn = (name: "disabled" | "browser", isOn: boolean) =>
    setAppSwitch(actor(), app.slug, [name, isOn]);
  /** Ends the person's keys; then prepares the next round. */
  const RACES: [name: string, end: () => Promise<unknown>, restore: () => Promise<unknown>][] = [
    ["as a revoked role", () => revokeRole(actor(), role()), () => grantRole(actor(), role())],
    ["as a sign-out", signOut, again],
    [
      "as a disabled person",
      () => setDisabled(actor(), world.ada.email, true),
      () => setDisabled(actor(), world.ada.email, false).then(again),
    ],
    ["as a disabled app", () => turn("disabled", true), () => turn("disabled", false)],
    ["as browser access turned off", () => turn("browser", false), () => turn("browser", true)],
    ["as a removed origin", () => targets({ remove: [ORIGIN] }), () => targets({ add: [ORIGIN] })],
  ];
  const ROUNDS = 20;

  test.each(RACES)("%s leaves no key", async (_, end, restore) => {
    let opened = 0;
    let left = 0;
    for (let round = 0; round < ROUNDS; round++) {
      await service.service.warm();
      const waits = round;
      const [response] = await Promise.all([openKey(), Bun.sleep(waits).then(end)]);
      if (response.status === 200) opened++;
      else expect([401, 403, 404]).toContain(response.status);
      const [keys, proofs] = await countKeys(world.ada, app);
      left += keys + proofs;
      await restore();
    }
    expect(left).toBe(0);
    expect(opened).toBeGreaterThan(0);
  });

  test("as a lost Console role leaves no key", async () => {
    const grace = await makePerson(service, { consoleRole: "admin" });
    const jar = await signInAs(service, grace);
    let opened = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const end = () => removeConsoleRole(actor(), grace.email);
      const [response] = await Promise.all([openKey(jar), Bun.sleep(round).then(end)]);
      if (response.status === 200) opened++;
      expect(await countKeys(grace, app)).toEqual([0, 0]);
      await giveConsoleRole(testActor(), grace.email, "admin");
    }
    expect(opened).toBeGreaterThan(0);
  });

  test("as a change of the role never has the old role", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const role = round % 2 === 0 ? "viewer" : "editor";
      const change = () => grantRole(actor(), { email: world.ada.email, slug: app.slug, role });
      await Promise.all([openKey(), Bun.sleep(round).then(change)]);
      const stored = await service.query<{ role: string }>(
        "select role from rowhouse.person_keys where person_id = $1",
        [world.ada.id],
      );
      expect(stored.filter((key) => key.role !== role)).toEqual([]);
    }
  });
});
