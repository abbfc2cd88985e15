/** `rowhouse admin` renames, disables and enables an app. */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openAdmin } from "../support/admin.ts";
import { eventually } from "../support/eventually.ts";
import { whileDone } from "../support/held_lock.ts";
import { makePerson, sharedCookie, signInAs, visit } from "../support/people.ts";
import { freshName, postDefinition } from "../support/push.ts";
import { callService, definitionOf, type TestApp } from "../support/service.ts";
import { openShape } from "../support/shape.ts";
import { share } from "../support/share.ts";

const admin = await share(openAdmin());
const second = await share(openShape({}, admin.service.database, () => undefined));

const uniqueSlug = () => `app-${crypto.randomUUID().slice(-12)}`;

/** The responses of two processes to a key. */
async function statusesOf(app: TestApp, path: string, key = app.key): Promise<number[]> {
  const responses = [admin.service, second].map(({ url }) =>
    callService({ url }, app, path, { key }),
  );
  return (await Promise.all(responses)).map(({ status }) => status);
}

async function keyStatuses(slug: string): Promise<string[]> {
  const { keys } = await admin.json("list-keys", slug);
  return (keys as { status: string }[]).map(({ status }) => status).sort();
}

test("a disabled app's keys and sign-in stop working on the next call, and enabling restores both", async () => {
  const { service, json, run } = admin;
  const name = freshName();
  const path = `/v1/data/db/${name}`;
  const definition = definitionOf(defineSchema({ [name]: { title: t.string() } }));
  const origin = "https://wiki.example.org";
  const app = await service.makeApp(defineSchema({ [name]: { title: t.string() } }), {
    origins: [origin],
  });
  const other = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  await service.call(app, path, { method: "POST", json: { title: "kept" } });
  const { text: rows } = await service.call(app, path);
  const revoked = await json("issue-key", app.slug);
  const person = await makePerson(service, { app });
  const jar = await signInAs(service, person);
  const ask = async (slug: string) => {
    const headers = { cookie: sharedCookie(jar) };
    const me = await service.call(undefined, `/v1/auth/me?app=${slug}`, { headers });
    const query = `app=${slug}&redirect_uri=${encodeURIComponent(`${origin}/`)}`;
    const page = await service.call(undefined, `/authorize?${query}`);
    return [me.status, me.text, page.status, page.text].map((part) =>
      String(part)
        .replaceAll(slug, "")
        .replace(/"requestId":"[^"]*"|(?<=id="reference">)[0-9a-f]{12}\b/g, ""),
    );
  };
  expect(await statusesOf(app, path)).toEqual([200, 200]);
  expect(await statusesOf(app, path, String(revoked["key"]))).toEqual([200, 200]);
  expect((await ask(app.slug))[0]).toBe("200");

  expect(await json("set-app", app.slug, "disabled", "on")).toEqual({
    app: app.slug,
    disabled: true,
  });
  expect(await statusesOf(app, path)).toEqual([401, 401]);
  expect((await postDefinition(service, app, definition)).status).toBe(401);
  expect(await ask(app.slug)).toEqual(await ask(uniqueSlug()));
  expect((await visit(service, jar, "/login")).text).not.toContain(app.slug);
  expect(await statusesOf(other, path)).toEqual([200, 200]);
  expect(await run("set-app", app.slug, "disabled", "on")).toMatchObject({ code: 1, out: "" });
  expect((await run("list-apps")).out).toMatch(new RegExp(`^${app.slug} .* disabled `, "m"));

  // Changes to keys while the app is disabled still apply afterward.
  const made = await json("issue-key", app.slug);
  const { key: rolled } = await json("roll-key", String(made["keyId"]));
  await json("revoke-key", String(revoked["keyId"]));
  expect(await keyStatuses(app.slug)).toEqual([...new Array(3).fill("disabled app"), "revoked"]);
  expect(await statusesOf(app, path, String(rolled))).toEqual([401, 401]);
  expect(await json("set-app", app.slug, "disabled", "off")).toEqual({
    app: app.slug,
    disabled: false,
  });
  for (const key of [app.key, made["key"], rolled])
    expect(await statusesOf(app, path, String(key))).toEqual([200, 200]);
  expect(await statusesOf(app, path, String(revoked["key"]))).toEqual([401, 401]);
  expect((await service.call(app, path)).text).toBe(rows);
  expect((await ask(app.slug))[0]).toBe("200");
  expect((await visit(service, jar, "/login")).text).toContain(app.slug);
  expect(await keyStatuses(app.slug)).toEqual([...new Array(3).fill("active"), "revoked"]);
  expect((await run("set-app", app.slug, "disabled", "off")).err).toContain("is already off");
  const { entries } = await json("audit", "--limit", "5");
  expect((entries as { action: string }[]).map(({ action }) => action)).toEqual([
    "set_disabled_off",
    "revoke_key",
    "roll_key",
    "issue_key",
    "set_disabled_on",
  ]);
});

test("a renamed app keeps its id, rows and keys, and only the new slug exists", async () => {
  const { service, json, run } = admin;
  const name = freshName();
  const app = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  const [taken, slug] = [await service.makeApp(), uniqueSlug()];
  expect((await run("rename-app", app.slug, taken.slug)).err).toContain("already exists");
  expect((await run("rename-app", app.slug, "Wiki")).err).toContain(
    "must be 2 to 40 lowercase letters",
  );
  expect(await json("rename-app", app.slug, slug)).toEqual({ app: slug, from: app.slug });
  expect((await run("rename-app", app.slug, slug)).err).toContain("No app has the slug");
  expect(await statusesOf(app, `/v1/data/db/${name}`)).toEqual([200, 200]);
  const { apps } = await json("list-apps");
  expect(apps).toContainEqual(expect.objectContaining({ id: app.id, slug }));
  const { entries } = await json("audit", "--limit", "1");
  expect(entries).toMatchObject([{ action: "rename_app", app: slug, details: { from: app.slug } }]);
});

/** Runs `first` in an open transaction until `second` waits for it, then ends the transaction. */
async function runBehind(first: string, second: () => Promise<unknown>): Promise<void> {
  const begun = await whileDone(
    admin.service.database.adminUrl,
    { text: first },
    async (session) => {
      const [self] = await session.unsafe("select pg_backend_pid()::int4 as pid");
      const waiting = second();
      await eventually(async () => {
        const [found] = await admin.service.query<{ n: number }>(
          "select count(*)::int4 as n from pg_stat_activity where $1::int4 = any (pg_blocking_pids(pid))",
          [Number(self?.["pid"])],
        );
        return found?.n !== 0;
      });
      return { waiting };
    },
  );
  await begun.waiting;
}

test.each([
  {
    name: "revoked while its app is being enabled",
    disabled: true,
    first: (_: string, keyId: string) => `select rowhouse.revoke_key('${keyId}', 'operator')`,
  },
  {
    name: "issued while its app is being disabled",
    disabled: false,
    first: (slug: string) =>
      `select rowhouse.issue_key('${slug}', 'k' || substr(md5('${slug}'), 1, 15), '', sha256('x'), '{data:read}', null, 'operator')`,
  },
])("a key that is $name has no proof", async ({ disabled, first }) => {
  const { service } = admin;
  const app = await service.makeApp();
  const keyId = /^rh_([a-z0-9]+)\./.exec(app.key)?.[1] ?? "";
  await setAppSwitch(service.service, app.slug, ["disabled", disabled]);
  await runBehind(first(app.slug, keyId), () =>
    setAppSwitch(service.service, app.slug, ["disabled", !disabled]),
  );
  const rows = await service.query<{ is_disabled: boolean; proofs: number }>(
    `select disabled_at is not null as is_disabled,
      (select count(*)::int4 from rowhouse.proofs where app_id = apps.id) as proofs from rowhouse.apps where id = $1`,
    [app.id],
  );
  expect(rows).toEqual([{ is_disabled: !disabled, proofs: 0 }]);
});
