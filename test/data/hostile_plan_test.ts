/**
 * Plans that no service sends, but an attacker with a serving login could. They fail, or return and write only rows of the app
 * whose key is proven.
 */
import { afterAll, expect } from "bun:test";
import postgres from "postgres";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { renderCall, setOf } from "../support/functions.ts";
import { type HostilePlan, makeHostilePlans } from "../support/hostile_plans.ts";
import { proofOf } from "../support/proof.ts";
import { openTestService } from "../support/service.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  notes: t.model({ name: t.string().required(), kind: t.enum(["a'b", "c"]) }),
});
const SECRET = "the other app's name";
const service = await openTestService({ service: { previews: ["filters"] } });
const apps = [await service.makeApp(schema), await service.makeApp(schema)] as const;
const [app, other] = apps;
const ids: string[] = [];
for (const [index, app] of apps.entries()) {
  const json = { name: index === 0 ? "mine" : SECRET, kind: "c" };
  const created = await service.call(app, "/v1/data/db/notes", { method: "POST", json });
  ids.push((created.json as { id: string }).id);
}
const login = postgres(service.database.servingUrl, { max: 1, prepare: false });
afterAll(async () => {
  await login.end();
  await service.close();
});

const { lists: LISTS, groups: GROUPS } = makeHostilePlans(setOf(schema, "notes"));
const VALUES = "array['ffffffff-ffff-ffff-ffff-ffffffffffff']";

type Asked = "find" | "find_groups" | "update_found" | "delete_found";
const REST: Readonly<Record<Asked, string>> = {
  find: "8388608, ''",
  find_groups: "8388608, ''",
  update_found: `100, false, false, '{"kind":"c"}', 8388608, null`,
  delete_found: "100, false, true, null",
};

/** What each plan returns, or the message of its error. */
async function callAll(endpoint: Asked, plans: readonly HostilePlan[]): Promise<string[]> {
  const call = renderCall(schema, "notes", endpoint, {
    ...{ app: "$1", proof: proofOf(app.key) },
    values: `$2, ${VALUES}, ${REST[endpoint]}`,
  });
  const found: string[] = [];
  for (const [, plan] of plans) {
    const text = typeof plan === "string" ? plan : JSON.stringify(plan);
    const rows = await login
      .unsafe(`select ${call} as body`, [app.id, text])
      .catch((error: Error) => [{ body: error.message }]);
    found.push(String(rows[0]?.["body"]));
  }
  return found;
}

const isOfOther = (body: string) => body.includes(SECRET) || body.includes(ids[1] ?? "");

testUnlessCitus("a cluster has no query functions")(
  "no plan of groups finds another app's rows",
  async () => {
    const found = await callAll("find_groups", GROUPS);
    expect(found.filter(isOfOther)).toEqual([]);
    expect(found[0]).toContain('{"groups":[{"by":{"name":"mine"},"count":1}]}');
    expect(found.filter((text) => /"count":(?![01]\b)/.test(text))).toEqual([]);
  },
);

testUnlessCitus("a cluster has no query functions")(
  "no plan finds another app's rows",
  async () => {
    const found = await callAll("find", LISTS);
    expect(found.filter(isOfOther)).toEqual([]);
    expect(found[0]).toContain('"name":"mine"');
    expect(found.filter((text) => /"count":(?![01]\b|null)/.test(text))).toEqual([]);
    const isOfSql = (_: string, nth: number) => /condition is .*SQL/.test(LISTS[nth]?.[0] ?? "");
    expect(found.filter(isOfSql).filter((text) => text.includes('{"rows":'))).toEqual([]);
    const sets = found.slice(LISTS.findIndex(([name]) => name === "whose set is as it should be"));
    expect(sets[0]).toContain('"name":"mine"');
    expect(sets.filter((text) => text.includes("mine")).length).toBeLessThan(8);
    // A plan in itself is served or fails by the service's own error, or by that of a value.
    const served = found.filter((text) => text.includes('{"rows":'));
    expect(served.length).toBeGreaterThan(20);
    expect(found.length - served.length).toBeGreaterThan(50);
  },
);

testUnlessCitus("a cluster has no query functions")(
  "no plan of a write finds or changes another app's rows",
  async () => {
    const read = () =>
      service.query(
        "select id, name, kind, xmin::text as xmin from data.notes where app_id = $1 order by id",
        [other.id],
      );
    const before = await read();
    expect(before).toMatchObject([{ name: SECRET }]);
    for (const endpoint of ["update_found", "delete_found"] as const) {
      const found = await callAll(endpoint, LISTS);
      expect(found[0]).toContain('"count":1');
      expect(found.filter(isOfOther)).toEqual([]);
      expect(found.filter((text) => /"count":(?![01]\b)/.test(text))).toEqual([]);
    }
    expect(await read()).toEqual(before);
  },
);
