/** The history of rows that people write under rules: it names the person and has every value, also those that the person does not see. */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { openPersonWorld, PREVIEWS, path, rowOf } from "../support/person_app.ts";
import { share } from "../support/share.ts";

const world = await share(openPersonWorld({ service: { previews: [...PREVIEWS, "history"] } }));
await setAppSwitch(world.service.service, world.wiki.slug, ["history", true]);

type Change = {
  by: string;
  before: Record<string, unknown>;
  after: Record<string, unknown> | null;
};
const changesOf = async (row: string) =>
  await world.service.query<Change>(
    `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true))
    select changed_by as by, before, after from entered, rowhouse.row_changes
    where app_id = $1::uuid and row_id = $2::uuid order by id`,
    [world.wiki.id, row],
  );

test("a person's writes are recorded with hidden values, rejected ones are not", async () => {
  const { wiki, ada, bob, post, patch, remove } = world;
  const made = await post(wiki, "projects", { name: "a", owner: ada.id, secret_note: "hidden" });
  const { id } = rowOf(made);
  expect((await patch(bob, path("projects", `/${id}`), { name: "x" })).status).toBe(404);
  expect((await patch(ada, path("projects", `/${id}`), { secret_note: "x" })).status).toBe(403);
  expect(await changesOf(id)).toEqual([]);

  expect((await patch(ada, path("projects", `/${id}`), { name: "b" })).status).toBe(200);
  expect((await patch(ada, path("projects"), [{ id, name: "c" }])).status).toBe(200);
  expect((await patch(ada, path("projects", "?name=eq.c"), { name: "d" })).status).toBe(200);
  const by = `person ${ada.id}`;
  const before = (name: string) => ({ name, owner: ada.id, secret_note: "hidden" });
  expect(await changesOf(id)).toEqual([
    { by, before: { name: "a" }, after: { name: "b" } },
    { by, before: { name: "b" }, after: { name: "c" } },
    { by, before: { name: "c" }, after: { name: "d" } },
  ]);
  expect((await remove(bob, path("projects", `/${id}`))).status).toBe(404);
  expect((await remove(ada, path("projects", `/${id}`))).status).toBe(204);
  expect((await changesOf(id)).at(-1)).toEqual({ by, before: before("d"), after: null });
});
