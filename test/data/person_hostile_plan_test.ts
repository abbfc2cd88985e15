/**
 * The holder of a stolen serving login with a person's proof writes plans by hand. They fail, or return only rows and columns that the
 * person sees, and each answer is the same whatever the other rows and columns have.
 */
import { expect, test } from "bun:test";
import { defineSchema, type TableRules, t } from "../../src/schema/mod.ts";
import { setName } from "../../src/tables/catalog/mod.ts";
import { setOf as declaredSetOf } from "../support/functions.ts";
import { type HostilePlan, makeHostilePlans } from "../support/hostile_plans.ts";
import { openPersonViews } from "../support/person_views.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const SECRET = "the other person's title";
const HIDDEN = "777123";
const schema = defineSchema({
  boxes: t.model({ name: t.string().required(), owner: t.uuid(), code: t.string() }),
  notes: t
    .model({
      kind: t.enum(["a'b", "c", "d", "e", "f", "g", "h"]),
      name: t.string().required(),
      owner: t.uuid(),
      place: t.ref("boxes"),
      price: t.number(),
      zone: t.string(),
      vault: t.ref("boxes"),
      rank: t.integer(),
    })
    .index("owner", "id")
    .index("rank", "id")
    .index("price", "id")
    .index("zone", "id"),
});
const rules: Record<string, TableRules> = {
  boxes: { allow: { own: { read: [{ owner: "me" }] } }, only: { code: ["admin"] } },
  notes: {
    allow: {
      own: {
        read: [{ owner: "me" }],
        update: { from: [{ owner: "me" }], to: [{ owner: "me" }] },
        delete: [{ owner: "me" }],
      },
      all: { read: [{}] },
      // PostgreSQL would compare a pattern first: it costs less.
      kinds: { read: [{ kind: ["c", "d", "e", "f", "g", "h"] }] },
    },
    only: { price: ["admin"], zone: ["admin"], vault: ["admin"] },
  },
};
const REST = { bytes: 8_388_608, known: "" };
/** The second is a pattern that fails where it is compared with another person's title, also in the statistics of the planner. */
const VALUES = ["ffffffff-ffff-ffff-ffff-ffffffffffff", `${SECRET.slice(0, -1)}\\`];

const service = await share(openTestService({ service: { previews: ["filters", "live"] } }));
const made = await service.makeApp(schema);
const app = made;
const views = await share(
  openPersonViews(service, { app: made, schema, rules }, [
    ...(["find", "find_groups", "walk", "update_found", "delete_found"] as const),
  ]),
);
const [ada, all] = [await views.makeCaller("own"), await views.makeCaller("all")];
const kinds = await views.makeCaller("kinds");
const post = async (table: string, json: object) => {
  const { status, json: body } = await service.call(made, `/v1/data/db/${table}`, {
    ...{ method: "POST", json },
  });
  expect(status).toBe(201);
  return (body as { rows: { id: string }[] }).rows.map(({ id }) => id);
};
const [mine = "", others = ""] = await post("boxes", [
  { name: "my box", owner: ada.id, code: HIDDEN },
  { name: SECRET, owner: all.id, code: HIDDEN },
]);
await post("notes", [
  {
    name: "mine",
    kind: "c",
    owner: ada.id,
    place: mine,
    price: Number(HIDDEN),
    zone: HIDDEN,
    vault: others,
  },
  ...Array.from({ length: 5 }, (_, n) => ({
    ...{
      name: SECRET,
      kind: "a'b",
      owner: all.id,
      place: mine,
      price: n,
      zone: HIDDEN,
      vault: mine,
    },
  })),
]);
const set = views.find("notes", "own");
if (set === undefined) throw new Error("no view");
const ofNotes = setName(set);

type Asked = "find" | "find_groups" | "update_found" | "delete_found";

/** What the function returns without the tag of a page, or its error. Writes are dry. */
async function send(
  endpoint: Asked,
  plan: HostilePlan[1],
  table = "notes",
  caller = ada,
): Promise<string> {
  const text = typeof plan === "string" ? plan : JSON.stringify(plan);
  const found = { plan: text, values: VALUES };
  const write = { ...found, limit: 1000, isPart: true, isDry: true, claim: null };
  const calls = {
    find: { endpoint: "find", values: { ...found, ...REST } },
    find_groups: { endpoint: "find_groups", values: { ...found, ...REST } },
    update_found: {
      endpoint: "update_found",
      values: { ...write, body: '{"name":"taken"}', bytes: 1e6 },
    },
    delete_found: { endpoint: "delete_found", values: write },
  } as const;
  return await views.call(caller, table, calls[endpoint]).then(
    (body) => body?.slice(Math.max(0, body.indexOf("{"))) ?? "",
    ({ code, message }: Error & { code?: string }) => `${code} ${message}`,
  );
}

const BY_ID = { sort: [["id", false, false]] };
const BASE = { limit: 10, offset: 0, cursor: "id.asc", order: ["id"], picked: [], parts: [BY_ID] };

/** Hidden columns and their parts, and names of no column. */
const UNKNOWN = [
  ...["price", "zone", "vault", "price.start", "zone.start", "zone.rest", "vault.reference"],
  ...["app_id", "#name", "ctid", "", "1", "other"],
];
const OF_UNKNOWN: readonly HostilePlan[] = UNKNOWN.flatMap((column): HostilePlan[] => {
  const conditions = [
    ["not", ["null", column]],
    ["or", ["null", "id"], ["neq", column, 1]],
    ["row", "gte", [column, "id"], [1, 1]],
    ["in", column, 1, 1],
    ["set", column, 1],
    ["first", column],
    ["like", column, 1],
  ];
  return [
    ...conditions.flatMap((where, n): HostilePlan[] => [
      [`condition ${n} on ${column}`, { ...BASE, where }],
      [`condition ${n} of a part on ${column}`, { ...BASE, parts: [BY_ID, { ...BY_ID, where }] }],
    ]),
    [`a sort by ${column}`, { ...BASE, parts: [{ sort: [[column, false]] }] }],
  ];
});
/** What names no row: a column that is shown, or the place of the next page. */
const SHOWN: readonly HostilePlan[] = UNKNOWN.flatMap((column): HostilePlan[] => [
  [`a selection of ${column}`, { ...BASE, picked: [column, "id"] }],
  [`a cursor at ${column}`, { ...BASE, limit: 0, order: [column, "id"] }],
]);
const GROUPED: readonly HostilePlan[] = UNKNOWN.flatMap((column): HostilePlan[] =>
  [
    { by: [column] },
    { sum: [column] },
    { min: [column] },
    { max: [column] },
    { avg: [column] },
  ].map((of) => [`groups of ${JSON.stringify(of)}`, of]),
);
const setOf = (table: string) => views.find(table, "own") ?? { name: table, columns: [] };
const named = (table: string) => setName(setOf(table));
const relation = (table: string, more: object) => ({
  ...{
    set: setName(setOf(table)),
    name: "r",
    picked: ["id", "name", "owner", "code", "kind", "place", "rank", "price", "zone", "vault"],
    bytes: 8_388_608,
  },
  ...more,
});
const RELATED: readonly HostilePlan[] = [
  ...[-1, 0, 1, 2, 3, 99].map(
    (of): HostilePlan => [
      `related rows of reference ${of}`,
      { ...BASE, related: [relation("boxes", { of })] },
    ],
  ),
  ["related rows of itself", { ...BASE, related: [relation("notes", { of: 1 })] }],
];
const CHILDREN: readonly HostilePlan[] = ["place", "id", "owner", ...UNKNOWN].flatMap(
  (column): HostilePlan[] => [
    [
      `children by ${column}`,
      { ...BASE, related: [relation("notes", { by: column, limit: 10, ...BY_ID })] },
    ],
    [
      `children in the order of ${column}`,
      {
        ...BASE,
        related: [relation("notes", { by: "place", limit: 10, sort: [[column, false]] })],
      },
    ],
  ],
);
const ENDS: readonly HostilePlan[] = [
  ["a count", { ...BASE, counted: 100 }],
  ["a low count", { ...BASE, counted: 0 }],
  ["a count of less than nothing", { ...BASE, counted: -1 }],
  ["no rows", { ...BASE, limit: 0 }],
  ["the rows after others", { ...BASE, offset: 1 }],
  ["parts of the same rows", { ...BASE, parts: [BY_ID, BY_ID, { sort: [["id", true]] }] }],
  ["a set of its own rows", ofSet(ofNotes, "id")],
  ["a set of boxes", ofSet(named("boxes"))],
  ["a set of boxes of a hidden reference", ofSet(named("boxes"), "vault")],
  ["a condition on a name", { ...BASE, where: ["neq", "name", 1] }],
];

const PATTERN = ["like", "name", 2];
const PATTERNS: readonly HostilePlan[] = [
  ["a pattern that fails", { ...BASE, where: PATTERN }],
  ["no pattern that fails", { ...BASE, where: ["not", PATTERN] }],
  ["a part with a pattern that fails", { ...BASE, parts: [{ ...BY_ID, where: PATTERN }] }],
  ["a pattern or an id", { ...BASE, where: ["or", ["lte", "id", 1], PATTERN], counted: 10 }],
  [
    "a pattern in the order of names",
    { ...BASE, where: PATTERN, parts: [{ sort: [["name", true]] }] },
  ],
];

/** A condition that a reference is one of the ids that a function finds. */
function ofSet(of: string, column = "place") {
  const found = { at: 1, of, path: "place", plan: BASE, values: VALUES };
  return { ...BASE, where: ["set", column, 1], sets: [found] };
}

/** Every answer to these plans, by what was asked. */
async function sendAll(): Promise<ReadonlyMap<string, string>> {
  const { lists, groups } = makeHostilePlans(ofNotes);
  const found = new Map<string, string>();
  const add = async (endpoint: Asked, plans: readonly HostilePlan[], table?: string) => {
    for (const [name, plan] of plans)
      found.set(`${endpoint} ${name}`, await send(endpoint, plan, table));
  };
  const ofRows = [...lists, ...OF_UNKNOWN, ...ENDS, ...PATTERNS];
  await add("find", [...ofRows, ...SHOWN, ...RELATED]);
  const conditions = OF_UNKNOWN.filter(([, plan]) => "where" in Object(plan));
  await add("find_groups", [...groups, ...conditions, ...GROUPED, ...PATTERNS]);
  await add("update_found", ofRows);
  await add("delete_found", ofRows);
  await add("find", CHILDREN, "boxes");
  return found;
}

await views.admin`analyze data.notes`;
const before = await sendAll();
const isData = (text: string) => text.startsWith("{");

test("no plan finds another person's row, or a hidden column", async () => {
  const rows = await views.admin<
    { id: string }[]
  >`select id from data.notes where owner <> ${ada.id}
    union all select id from data.boxes where owner <> ${ada.id}`;
  const secrets = [
    SECRET,
    HIDDEN,
    "price",
    "zone",
    "vault",
    "code",
    all.id,
    ...rows.map(({ id }) => id),
  ];
  for (const [name, text] of before) {
    // The cursor of a page is base64url.
    const next = /"next":"([^"]+)"/.exec(text)?.[1] ?? "";
    const shown = `${isData(text) ? text : ""} ${Buffer.from(next, "base64url")}`;
    expect({ name, leaks: secrets.filter((secret) => shown.includes(secret)) }).toEqual({
      ...{ name, leaks: [] },
    });
    expect({ name, text }).not.toMatchObject({
      text: expect.stringMatching(/"count":(?![01]\b|null)/),
    });
  }
  for (const name of [
    ...["find as it should be", "find related rows of reference 1", "find a set of boxes"],
    "find children by place",
  ])
    expect({ name, text: before.get(name) }).toMatchObject({
      text: expect.stringMatching(/mine|my box/),
    });
});

test("a plan fails for each number that is no column of the person", () => {
  const failed = [...OF_UNKNOWN, ...GROUPED].flatMap(([name]) =>
    ["find", "find_groups", "update_found", "delete_found"].flatMap(
      (endpoint) => before.get(`${endpoint} ${name}`) ?? [],
    ),
  );
  expect(failed.length).toBeGreaterThan(500);
  expect([...new Set(failed)].filter((text) => !text.startsWith("RH022"))).toEqual([]);
});

test("no pattern is compared with another person's title", async () => {
  for (const caller of [ada, kinds])
    for (const [, plan] of PATTERNS) {
      expect(await send("find", plan, "notes", caller)).toStartWith('{"rows":');
      expect(await send("find_groups", plan, "notes", caller)).toStartWith('{"groups":');
    }
  const own = `${"mine".slice(0, -1)}\\`;
  const values = { plan: JSON.stringify(PATTERNS[0]?.[1]), values: [own, own], ...REST };
  const found = views.call(ada, "notes", { endpoint: "find", values });
  await expect(found).rejects.toMatchObject({ code: "22025" });
});

test("no answer depends on other rows and hidden columns", async () => {
  await views.admin`update data.notes set price = 5, zone = null, vault = null where owner = ${ada.id}`;
  await views.admin`update data.boxes set code = 'x' where owner = ${ada.id}`;
  await views.admin`update data.notes set name = 'x', kind = null, rank = 1, place = null, price = null
    where owner = ${all.id} and price < 2`;
  await views.admin`delete from data.notes where owner = ${all.id} and price > 2`;
  await views.admin`insert into data.notes (app_id, id, name, owner, place, rank, price)
    select ${made.id}, (lpad(to_hex(n::int8 * 16000000), 8, '0') || '-0000-7000-8000-000000000000')::uuid, n::text, ${all.id}, ${mine}, n, n
    from generate_series(1, 250) as n`;
  await views.admin`update data.boxes set name = 'other' where owner = ${all.id}`;
  const after = await sendAll();
  for (const [name, text] of after)
    expect({ name, text }).toEqual({ name, text: before.get(name) ?? "" });
});

const NOTHING = "00000000-0000-0000-0000-000000000000";
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

test("the functions of other roles, of API keys and of other apps reject the proof", async () => {
  const plan = JSON.stringify(BASE);
  const values = { plan, values: VALUES, bytes: 8_388_608, known: "" };
  const set = views.find("notes", "all");
  if (set === undefined) throw new Error("no view");
  const other = views.call(ada, "notes", { endpoint: "find", values }, { set });
  await expect(other).rejects.toMatchObject({ code: "RH401" });
  const { view: _, ...plain } = set;
  // Neither do they as the functions of a set or of related rows.
  const { view: _boxes, ...boxes } = setOf("boxes") as typeof set;
  for (const plan of [
    ofSet(setName(set)),
    ofSet(declaredSetOf(schema, "boxes")),
    { ...BASE, related: [{ ...relation("boxes", { of: 1 }), set: setName(boxes) }] },
    { ...BASE, related: [{ ...relation("notes", { of: 1 }), set: setName(set) }] },
  ])
    expect(await send("find", plan)).toStartWith("RH401");
  const ofKey = views.call(ada, "notes", { endpoint: "find", values }, { set: plain });
  await expect(ofKey).rejects.toMatchObject({ code: "RH401" });
  expect(setName(plain)).toBe(declaredSetOf(schema, "notes"));
  const elsewhere = views.call(
    ada,
    "notes",
    { endpoint: "find", values },
    { app: crypto.randomUUID() },
  );
  await expect(elsewhere).rejects.toMatchObject({ code: "RH401" });
  expect(app.id).not.toBe("");
});

test("no plan of a write changes another person's row", async () => {
  const { lists } = makeHostilePlans(ofNotes);
  const read = () =>
    views.admin`select id, xmin::text from data.notes where owner <> ${ada.id} order by id`;
  const unchanged = await read();
  for (const [, plan] of [...lists, ...OF_UNKNOWN, ...ENDS]) {
    const text = typeof plan === "string" ? plan : JSON.stringify(plan);
    const found = { plan: text, values: VALUES, limit: 1000, isPart: true, isDry: false };
    const values = { ...found, claim: null };
    const update = { ...values, body: '{"name":"taken"}', bytes: 1e6 };
    await views.call(ada, "notes", { endpoint: "update_found", values: update }).catch(() => "");
    await views.call(ada, "notes", { endpoint: "delete_found", values }).catch(() => "");
  }
  expect(await read()).toEqual(unchanged);
  expect(await views.admin`select id from data.notes where owner = ${ada.id}`).toHaveLength(0);
});
