/** Limits of an app's functions and of long rules: a dry run rejects what a push would, and only what grows. */
import { expect, test } from "bun:test";
import { QUOTAS, type TableDefinition } from "../../src/schema/mod.ts";
import { findLargeApps } from "../../src/tables/mod.ts";
import { checkGrowth } from "../../src/tables/plan/function_quota.ts";
import { findLongRules } from "../../src/tables/plan/rule_quota.ts";
import { freshName, postDefinition } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: { previews: ["filters", "browser"] } }));

const PLAIN = { required: false, unique: false, index: false } as const;
const OWNER = { ...PLAIN, name: "owner", kind: "uuid" } as const;

/** A chain of tables, each with two references to the table before it, whose rows the person must be able to read. */
function makeChain(length: number, prefix = freshName()): TableDefinition[] {
  return Array.from({ length }, (_, index): TableDefinition => {
    const name = `${prefix}_${index}`;
    const lists = { indexes: [], uniques: [] };
    if (index === 0)
      return {
        name,
        columns: [OWNER],
        ...lists,
        rules: { allow: { m: { read: [{ owner: "me" }] } } },
      };
    const refs = ["ref0", "ref1"].map((ref) => ({
      ...PLAIN,
      ...{ name: ref, kind: "ref" as const, table: `${prefix}_${index - 1}` },
    }));
    const read = refs.map((ref) => ({ [ref.name]: { readable: true as const } }));
    return { name, columns: refs, ...lists, rules: { allow: { m: { read } } } };
  });
}

const post = async (tables: readonly TableDefinition[], dryRun: boolean) => {
  const app = await service.makeApp();
  return await postDefinition(service, app, { version: 1, tables }, { dryRun });
};

test.each([{ dryRun: true }, { dryRun: false }])(
  "a rule that doubles with each table is rejected above its limit: $dryRun",
  async ({ dryRun }) => {
    expect(await post(makeChain(7), dryRun)).toMatchObject({ status: 200 });
    const { status, json } = await post(makeChain(40), dryRun);
    expect(status).toBe(422);
    expect(json).toMatchObject({
      error: "invalid_schema",
      message: "Cannot push: the app would exceed a limit; nothing was written",
      details: expect.arrayContaining([
        {
          path: expect.stringMatching(/_8$/),
          message: expect.stringContaining(
            `by a rule of 766 conditions: at most ${QUOTAS.conditionsPerRule} are allowed`,
          ),
        },
      ]),
    });
  },
);

test("a long chain of single references is pushed", async () => {
  const tables = makeChain(30).map((table): TableDefinition => {
    const read = table.rules?.allow["m"]?.read?.slice(0, 1) ?? [];
    return { ...table, rules: { allow: { m: { read } } } };
  });
  expect(await post(tables, false)).toMatchObject({ status: 200 });
});

test("a rule above its limit can stay", () => {
  const before = makeChain(9, "t");
  expect(findLongRules(before, before)).toEqual([]);
  expect(findLongRules(before, makeChain(10, "t"))).toHaveLength(1);
  expect(findLongRules(before, makeChain(8, "t"))).toEqual([]);
});

test("more tables and groups of roles than an app can have are rejected, in a dry run too", async () => {
  const prefix = freshName();
  const allow = (role: number) => ({ read: [{ n: role }] });
  const tables = Array.from({ length: 150 }, (_, index): TableDefinition => {
    const roles = Array.from({ length: 8 }, (_, role) => [`r${role}`, allow(role)]);
    return {
      ...{ name: `${prefix}_${index}`, indexes: [], uniques: [] },
      columns: [{ ...PLAIN, name: "n", kind: "integer" }],
      rules: { allow: Object.fromEntries(roles) },
    };
  });
  for (const dryRun of [true, false]) {
    const { status, json } = await post(tables, dryRun);
    expect(status).toBe(422);
    expect(json).toMatchObject({
      error: "invalid_schema",
      details: [
        { message: expect.stringMatching(/^The app would have 1350 tables and groups of roles/) },
      ],
    });
  }
});

test("an app above the limit can push what does not make it larger", () => {
  const large = { a: { functions: QUOTAS.functions + 1, bytes: 1 } };
  expect(() => checkGrowth(large, large)).not.toThrow();
  expect(() => checkGrowth(large, { b: { functions: QUOTAS.functions, bytes: 2 } })).not.toThrow();
  expect(() => checkGrowth({}, large)).toThrow("exceed a limit");
  const sets = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [n, { functions: 1, bytes: 1 }]));
  expect(() => checkGrowth({}, sets(QUOTAS.functionSets))).not.toThrow();
  expect(() => checkGrowth({}, sets(QUOTAS.functionSets + 1))).toThrow("exceed a limit");
  expect(() => checkGrowth(sets(1002), sets(1002))).not.toThrow();
  expect(() => checkGrowth(sets(1002), sets(1003))).toThrow("exceed a limit");
  expect(() => checkGrowth(large, { ...large, b: { functions: 1, bytes: 1 } })).toThrow();
});

test("doctor names an app above the limits", async () => {
  const app = await service.makeApp();
  const { slug } = app;
  await postDefinition(service, app, { version: 1, tables: makeChain(3) });
  const none = 1_000_000_000;
  const max = { functions: none, functionBytes: none, functionSets: none, conditionsPerRule: none };
  const found = (limits: Partial<typeof max>) =>
    findLargeApps(service.service.admin, { ...max, ...limits });
  expect(await findLargeApps(service.service.admin)).toEqual([]);
  expect(await found({})).toEqual([]);
  for (const [limits, says] of [
    [{ functions: 1 }, "\\d+ functions of \\d+ bytes;"],
    [{ functionBytes: 1 }, "\\d+ functions of \\d+ bytes;"],
    [{ functionSets: 5 }, "6 tables and groups of roles with equal rights on a table;"],
    [{ conditionsPerRule: 9 }, "a rule of 10 conditions, with those of the rules that it follows;"],
  ] as const)
    expect(await found(limits)).toContainEqual(
      expect.stringMatching(new RegExp(`^app ${slug} has ${says} a push accepts at most`)),
    );
  expect(await found({ functionSets: 6, conditionsPerRule: 10 })).not.toContainEqual(
    expect.stringContaining(slug),
  );
});
