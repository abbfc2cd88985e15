/**
 * Plans that no service sends, but an attacker with a serving login could. They fail or return only rows of the app
 * whose key is proven.
 */
import { afterAll, expect } from "bun:test";
import postgres from "postgres";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { functionOf } from "../support/functions.ts";
import { INCOMPLETE, makeHostilePlans } from "../support/hostile_plans.ts";
import { proofOf } from "../support/proof.ts";
import { openTestService } from "../support/service.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  notes: t.model({ title: t.string().required(), kind: t.enum(["a'b", "c"]) }),
});
const SECRET = "the other app's title";
const service = await openTestService({ service: { previews: ["filters"] } });
const apps = [await service.makeApp(schema), await service.makeApp(schema)] as const;
const [app] = apps;
for (const [index, app] of apps.entries())
  await service.call(app, "/v1/data/db/notes", {
    method: "POST",
    json: { title: index === 0 ? "mine" : SECRET, kind: "c" },
  });
const login = postgres(service.database.servingUrl, { max: 1, prepare: false });
afterAll(async () => {
  await login.end();
  await service.close();
});

const { lists: LISTS, groups: GROUP_PLANS } = makeHostilePlans(functionOf(schema, "notes", "find"));

testUnlessCitus("a cluster has no query functions")(
  "no plan of groups finds another app's rows",
  async () => {
    const name = functionOf(schema, "notes", "find_groups");
    const found: string[] = [];
    for (const [, plan] of GROUP_PLANS) {
      const text = typeof plan === "string" ? plan : JSON.stringify(plan);
      const rows = await login
        .unsafe(
          `select api."${name}"($1, ${proofOf(app.key)}, $2, array['ffffffff-ffff-ffff-ffff-ffffffffffff'], 8388608, '') as body`,
          [app.id, text],
        )
        .catch((error: Error) => [{ body: error.message }]);
      found.push(String(rows[0]?.["body"]));
    }
    expect(found.filter((body) => body.includes(SECRET))).toEqual([]);
    expect(found[0]).toContain('{"groups":[{"by":{"title":"mine"},"count":1}]}');
    expect(found.filter((text) => /"count":(?![01]\b)/.test(text))).toEqual([]);
  },
);

testUnlessCitus("a cluster has no query functions")(
  "no plan finds another app's rows",
  async () => {
    const name = functionOf(schema, "notes", "find");
    const found: string[] = [];
    for (const [, plan] of [...INCOMPLETE, ...LISTS]) {
      const text = typeof plan === "string" ? plan : JSON.stringify(plan);
      const rows = await login
        .unsafe(
          `select api."${name}"($1, ${proofOf(app.key)}, $2, array['ffffffff-ffff-ffff-ffff-ffffffffffff'], 8388608, '') as body`,
          [app.id, text],
        )
        .catch((error: Error) => [{ body: error.message }]);
      found.push(String(rows[0]?.["body"]));
    }
    expect(found.filter((body) => body.includes(SECRET))).toEqual([]);
    expect(found.slice(0, INCOMPLETE.length)).toEqual(INCOMPLETE.map(([, , error]) => error));
    const lists = found.slice(INCOMPLETE.length);
    expect(lists[0]).toContain('"title":"mine"');
    const sets = lists.slice(LISTS.findIndex(([name]) => name === "whose set is as it should be"));
    expect(sets[0]).toContain('"title":"mine"');
    expect(sets.filter((text) => text.includes("mine")).length).toBeLessThan(8);
    const [count] = await service.service.admin.query<{ count: number }>(
      "select count(*)::int4 as count from data.notes",
      [],
      { retry: "safe", queue: "service" },
    );
    expect(count?.count).toBe(2);
  },
);
