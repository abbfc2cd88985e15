/**
 * The holder of a stolen serving login with a person's proof writes plans by hand. They fail, or return only rows and columns that the
 * person sees: of rows of the same app, and of columns of the person's own rows.
 */
import { expect, test } from "bun:test";
import { defineSchema, type TableRules, t } from "../../src/schema/mod.ts";
import { functionName } from "../../src/tables/catalog/mod.ts";
import { functionOf } from "../support/functions.ts";
import { type HostilePlan, makeHostilePlans } from "../support/hostile_plans.ts";
import { openPersonViews, type TestCaller } from "../support/person_views.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const SECRET = "the other person's title";
const HIDDEN = "777123";
const schema = defineSchema({
  notes: t
    .model({
      kind: t.enum(["a'b", "c"]),
      name: t.string().required(),
      owner: t.uuid(),
      price: t.number(),
      zone: t.number(),
      rank: t.integer(),
    })
    .index("owner", "id")
    .index("rank", "id")
    .index("price", "id")
    .index("zone", "id"),
});
const rules: Record<string, TableRules> = {
  notes: {
    allow: {
      own: {
        read: [{ owner: "me" }],
        update: { from: [{ owner: "me" }], to: [{ owner: "me" }] },
        delete: [{ owner: "me" }],
      },
      all: { read: [{}] },
    },
    only: { price: ["admin"], zone: ["admin"] },
  },
};
const VALUES = ["ffffffff-ffff-ffff-ffff-ffffffffffff"];

const service = await share(openTestService({ service: { previews: ["filters", "live"] } }));
const made = await service.makeApp(schema);
const app = made;
const views = await share(
  openPersonViews(service, { app: made, schema, rules }, [
    ...([
      ...["find", "find_groups", "walk", "related", "children_of", "update_found", "delete_found"],
    ] as const),
  ]),
);
const [ada, all] = [await views.makeCaller("own"), await views.makeCaller("all")];
const json = [
  { name: "mine", kind: "c", owner: ada.id, price: Number(HIDDEN), zone: 1 },
  ...Array.from({ length: 5 }, (_, n) => ({
    ...{ name: SECRET, kind: "c", owner: all.id, price: n, zone: n },
  })),
];
const { status } = await service.call(made, "/v1/data/db/notes", { method: "POST", json });
expect(status).toBe(201);
const set = views.find("notes", "own");
if (set === undefined) throw new Error("no view");
const call = functionName(set, "find");

async function send(
  caller: TestCaller,
  endpoint: "find" | "find_groups",
  plan: HostilePlan[1],
): Promise<string> {
  const text = typeof plan === "string" ? plan : JSON.stringify(plan);
  const values = { plan: text, values: VALUES, bytes: 8_388_608, known: "" };
  return await views.call(caller, "notes", { endpoint, values }).then(
    (body) => body ?? "",
    (error: Error) => `${error.message} ${JSON.stringify(error)}`,
  );
}

/** Plans for hidden columns, whose numbers would follow those that the person sees. */
const BASE = {
  limit: 10,
  offset: 0,
  visits: 100,
  work: 1_000_000,
  cursor: "id.asc",
  order: [1],
  picked: [],
  walk: [1],
  isDescending: false,
  stop: { op: "lte", values: [1] },
};
const OF_HIDDEN: readonly HostilePlan[] = [5, 6, 7, 9, 10, 11, 12, 13, 14, 15].flatMap(
  (column): HostilePlan[] => [
    [`a condition on ${column}`, { ...BASE, filter: ["not", ["null", column]] }],
    [`a selection of ${column}`, { ...BASE, picked: [column] }],
    [`a walk along ${column}`, { ...BASE, walk: [column, 1], stop: undefined }],
    [
      `a walk along ${column} by its index`,
      { ...BASE, walk: [column, 1], index: "notes__price__id__search_idx", stop: undefined },
    ],
    [`a sort by ${column}`, { ...BASE, passed: [column], sort: [[column, false]] }],
    [`a cursor at ${column}`, { ...BASE, limit: 0, order: [column] }],
  ],
);
const ENDS: readonly HostilePlan[] = [
  ["visits that end at others' rows", { ...BASE, visits: 1, limit: 5 }],
  ["visits that end before all rows", { ...BASE, visits: 0, limit: 5 }],
  [
    "visits that end at others' rows, downwards",
    { ...BASE, visits: 2, isDescending: true, stop: { op: "gte", values: [1] } },
  ],
  ["a count", { ...BASE, isCounted: true }],
  ["a count of its own", { ...BASE, isCounted: true, counted: 100, total: BASE }],
  [
    "a count of all rows of its own",
    { ...BASE, isCounted: true, total: { ...BASE, counted: 100, merged: false } },
  ],
  ["a plan of a total", { ...BASE, isCounted: true, isTotal: true }],
  ["rows after a cursor", { ...BASE, at: { op: "gte", values: [1] } }],
  ["a seen column that it names", { ...BASE, filter: ["eq", '1) or ("$s', 1] }],
];

/** The plans, and the same for all rows that the person sees, which PostgreSQL finds by the rule. */
function withFound(plans: readonly HostilePlan[]): readonly HostilePlan[] {
  const found = plans.flatMap(([name, plan]): HostilePlan[] =>
    typeof plan === "string" ? [] : [[`${name}, of all rows`, { ...plan, merged: false }]],
  );
  return [...plans, ...found];
}

test("no plan finds another person's row, or a hidden column", async () => {
  const { lists, groups } = makeHostilePlans(call);
  const found: string[] = [];
  for (const [, plan] of withFound([...lists, ...OF_HIDDEN, ...ENDS]))
    found.push(await send(ada, "find", plan));
  for (const [, plan] of withFound([...groups, ...OF_HIDDEN]))
    found.push(await send(ada, "find_groups", plan));
  expect(found[0]).toContain('"name":"mine"');
  for (const secret of [SECRET, HIDDEN, "price", "zone", all.id]) {
    // A rejected plan is in the error of the driver, not of the service.
    const leaks = found.filter((text) => text.includes(secret) && text.includes('{"'));
    expect(leaks.filter((text) => !text.includes('"code"'))).toEqual([]);
  }
  expect(found.filter((text) => /"count":(?![01]\b|null)/.test(text))).toEqual([]);
  const others = await views.admin<
    { id: string }[]
  >`select id from data.notes where owner <> ${ada.id}`;
  for (const { id } of others) expect(found.filter((text) => text.includes(id))).toEqual([]);
  // The cursor of a page is base64url.
  const cursors = found.flatMap((text) => /"next":"([^"]+)"/.exec(text)?.[1] ?? []);
  for (const cursor of cursors)
    for (const { id } of others)
      expect(Buffer.from(cursor, "base64url").toString()).not.toContain(id);
});

/** The answers to the same call for a range with others' rows, and for one without any row. */
async function compareRanges(ask: (highest: string) => Promise<string>): Promise<string[]> {
  const found: string[] = [];
  // Downwards, because the first row is the person's own.
  for (const highest of [NOTHING, "ffffffff-ffff-ffff-ffff-ffffffffffff"])
    found.push((await ask(highest)).replaceAll(highest, "?"));
  return found;
}

const NOTHING = "00000000-0000-0000-0000-000000000000";
const DOWN = { start: { op: "lte", values: [1] }, stop: undefined, isDescending: true } as const;
// Behind the person's own row there are only rows of others.
const OTHERS = { ...DOWN, stop: { op: "gt", values: [2] } } as const;
const LOW: readonly HostilePlan[] = [
  ["no visit", { ...BASE, ...OTHERS, limit: 5, visits: 0 }],
  ["a visit", { ...BASE, ...OTHERS, limit: 0, visits: 1 }],
  ["fewer than no visits", { ...BASE, ...OTHERS, limit: 5, visits: -1 }],
  ["a count of no visits", { ...BASE, ...OTHERS, isCounted: true, counted: 0 }],
  ["a sort of no visits", { ...BASE, ...OTHERS, visits: 0, sort: [[1, false]] }],
  ["no work", { ...BASE, ...OTHERS, work: 0, text: { reads: [[3, 1, 1000, true]] } }],
  [
    "much work for each byte",
    { ...BASE, ...OTHERS, work: 1, text: { reads: [[3, 2_000_000_000, 1000, true]] } },
  ],
];

test("no low limit of a plan reveals that others have rows in a range", async () => {
  const [own] = await views.admin<
    { id: string }[]
  >`select id from data.notes where owner = ${ada.id}`;
  const ask = (endpoint: "find" | "find_groups", plan: HostilePlan[1]) => (highest: string) => {
    const values = { plan: JSON.stringify(plan), values: [highest, own?.id ?? ""], ...REST };
    return views.call(ada, "notes", { endpoint, values }).then(
      (body) => (body ?? "").slice(body?.indexOf("{")),
      (error: Error) => `${error.message} ${JSON.stringify(error)}`,
    );
  };
  for (const [name, plan] of withFound(LOW)) {
    const [none, some] = await compareRanges(ask("find", plan));
    expect({ name, some }).toEqual({ name, some: none });
    const grouped = { ...Object(plan), grouped: [], by: [] };
    const [noGroup, group] = await compareRanges(ask("find_groups", grouped));
    expect({ name, group }).toEqual({ name, group: noGroup });
  }
});

const REST = { bytes: 8_388_608, known: "" };
const OWN = "notes__owner__id__search_idx";

test("no walk reveals that others have rows in a range", async () => {
  const answers: string[] = [];
  for (const index of [OWN, "notes__rank__id__search_idx"])
    for (const [start, stop] of [
      [
        ["0", NOTHING],
        ["10", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
      ],
      [[NOTHING], ["ffffffff-ffff-ffff-ffff-ffffffffffff"]],
      [[NOTHING], [NOTHING]],
      [
        [ada.id, NOTHING],
        [all.id, NOTHING],
      ],
      [
        [all.id, NOTHING],
        [all.id, "ffffffff-ffff-ffff-ffff-ffffffffffff"],
      ],
      [
        [all.id, NOTHING],
        [all.id, NOTHING],
      ],
    ] as const)
      for (const nulls of [null, [NOTHING]])
        for (const isDescending of [false, true]) {
          const values = {
            ...{ index, isDescending, start, stop, nulls, limit: 0, picked: [], order: [1] },
            ...{ cursor: "id.asc", inline: null, ...REST },
          };
          answers.push(
            await views.call(ada, "notes", { endpoint: "walk", values }).then(
              (body) => (body ?? "").slice(body?.indexOf("{")),
              (error: { code: string }) => error.code,
            ),
          );
        }
  expect([...new Set(answers)]).toEqual(["RH021"]);
  // Of the person's own rows there is a walk.
  const values = {
    ...{ index: OWN, isDescending: false, nulls: null, limit: 5, picked: [], order: [1] },
    ...{ start: [ada.id, NOTHING], stop: [ada.id, VALUES[0] ?? ""], cursor: "id.asc" },
    ...{ inline: null, ...REST },
  };
  expect(await views.call(ada, "notes", { endpoint: "walk", values })).toContain('"name":"mine"');
});

test("no plan of a write finds another person's row", async () => {
  const { lists } = makeHostilePlans(call);
  for (const [, plan] of withFound([...lists, ...OF_HIDDEN, ...ENDS])) {
    const text = JSON.stringify(
      typeof plan === "string" ? plan : { ...plan, again: { ...plan, walk: [1] } },
    );
    const values = {
      plan: text,
      values: VALUES,
      limit: 1000,
      isPart: true,
      isDry: false,
      claim: null,
    };
    await views
      .call(ada, "notes", {
        endpoint: "update_found",
        values: { ...values, body: '{"name":"taken"}', bytes: 1e6 },
      })
      .catch(() => undefined);
    await views.call(ada, "notes", { endpoint: "delete_found", values }).catch(() => undefined);
  }
  const [left] =
    await views.admin`select count(*)::int4 as count from data.notes where name = ${SECRET}`;
  expect(left?.["count"]).toBe(5);
});

test("the functions of other roles, of API keys and of other apps reject the proof", async () => {
  const plan = JSON.stringify(BASE);
  const values = { plan, values: VALUES, bytes: 8_388_608, known: "" };
  const set = views.find("notes", "all");
  if (set === undefined) throw new Error("no view");
  const other = views.call(ada, "notes", { endpoint: "find", values }, { set });
  await expect(other).rejects.toMatchObject({ code: "RH401" });
  const { view: _, ...plain } = set;
  const ofKey = views.call(ada, "notes", { endpoint: "find", values }, { set: plain });
  await expect(ofKey).rejects.toMatchObject({ code: "RH401" });
  expect(functionName(plain, "find")).toBe(functionOf(schema, "notes", "find"));
  const elsewhere = views.call(
    ada,
    "notes",
    { endpoint: "find", values },
    { app: crypto.randomUUID() },
  );
  await expect(elsewhere).rejects.toMatchObject({ code: "RH401" });
  expect(app.id).not.toBe("");
});
