/** A rule for reading that no row can fulfill, because it follows a table that the role does not read: every read is empty, and the key stays. */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openEvents } from "../support/event_stream.ts";
import { mintPersonKey } from "../support/minted_key.ts";
import { openToBrowsers } from "../support/person_keys.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(
  openTestService({ service: { previews: ["filters", "live", "browser"] } }),
);
const app = await service.makeApp(
  defineSchema({
    teams: t.model({ name: t.string() }).allow("member", { create: true }),
    boxes: t.model({ title: t.string() }).allow("member", { read: true }),
    notes: t
      .model({ title: t.string(), team: t.ref("teams"), box: t.ref("boxes") })
      .index("box", "id")
      .allow("member", { read: { team: { readable: true } }, update: true, delete: true }),
  }),
);
await openToBrowsers(service, app);
await setAppSwitch(service.service, app.slug, ["live", true]);
const create = async (table: string, json: object) => {
  const made = await service.call(app, `/v1/data/db/${table}`, { method: "POST", json });
  return (made.json as { id: string }).id;
};
const [team, box] = [await create("teams", { name: "a" }), await create("boxes", { title: "a" })];
const note = await create("notes", { title: "a", team, box });
const who = { app: app.id, person: crypto.randomUUID(), role: "member" };
const key = await mintPersonKey(service.service.admin, who);

test.each([
  ["notes", { rows: [] }],
  ["notes?title=eq.a", { rows: [] }],
  ["notes/groups?by=title", { groups: [] }],
  ["boxes?select=id,notes(title)", { rows: [{ id: box, notes: { rows: [], hasMore: false } }] }],
])("a list %s", async (path, shown) => {
  const { status, json } = await service.call({ ...app, key }, `/v1/data/db/${path}`);
  expect([status, json]).toMatchObject([200, shown]);
});

test("writes of a row that the caller does not read find no row", async () => {
  for (const call of [{ method: "PATCH", json: { title: "b" } }, { method: "DELETE" }])
    for (const [path, status] of [
      [`notes/${note}`, 404],
      ["notes?title=eq.a", 200],
    ] as const)
      expect((await service.call({ ...app, key }, `/v1/data/db/${path}`, call)).status).toBe(
        status,
      );
});

test("a stream of changes opens", async () => {
  await using events = await openEvents(`${service.url}/v1/data/db/notes/changes`, { key });
  expect(await events.next()).toMatchObject({ kind: "ready" });
});
