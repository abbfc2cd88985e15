/**
 * How long a request of a person takes does not tell where other people have values: what a statement reads is the same for a range
 * with thousands of rows of others and for one without any.
 */
import { expect, test } from "bun:test";
import { defineSchema, type TableRules, t } from "../../src/schema/mod.ts";
import { measureDryDelete, measureGroups, measurePage } from "../support/person_costs.ts";
import { openPersonViews, type TestCaller } from "../support/person_views.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  projects: t.model({ name: t.string() }),
  members: t
    .model({ person: t.uuid().required(), project: t.ref("projects").required() })
    .index("person", "project"),
  pays: t
    .model({
      owner: t.uuid().required(),
      amount: t.integer().required(),
      note: t.string(),
      project: t.ref("projects"),
      isOpen: t.boolean().required(),
    })
    .index("owner", "id")
    .index("amount")
    .index("project", "amount"),
});
const OWN = [{ owner: "me" }];
const rules: Record<string, TableRules> = {
  projects: { allow: { own: { read: [{}] }, any: { read: [{}] }, none: { read: [{}] } } },
  pays: {
    allow: {
      own: { read: OWN, delete: OWN },
      any: { read: [{ owner: "me" }, { owner: "me", isOpen: true }], delete: OWN },
      // No index serves the rule.
      none: { read: [{ note: "mine" }], delete: [{ note: "mine" }] },
      member: { read: [{ owner: "me" }, { project: { memberOf: "members" } }] },
    },
  },
};
const ROLES = ["own", "any", "none"] as const;
const HIDDEN = 9000;
/** Ranges of 10,000 amounts: only the first has rows, all of others. */
const FULL = 50_000;
const EMPTY = 70_000;

/** The person is a member of the first. */
const projects = [0, 1].map(() => Bun.randomUUIDv7());
const callers: Partial<Record<string, TestCaller>> = {};
const service = await share(
  openTestService({ service: { ...UNGUARDED, previews: ["filters", "live"] } }),
);
const app = await service.makeApp(schema);
const endpoints = ["list", "find", "walk", "find_groups", "delete_found"] as const;
const views = await share(openPersonViews(service, { app, schema, rules }, endpoints));
const me = crypto.randomUUID();
for (const role of [...ROLES, "member"]) callers[role] = await views.makeCaller(role, { id: me });
await views.admin`insert into data.projects (app_id, id, name)
    select ${app.id}, p, p::text from unnest(${projects}::uuid[]) as p`;
await views.admin`insert into data.members (app_id, id, person, project)
    values (${app.id}, gen_random_uuid(), ${me}, ${projects[0] ?? ""})`;
// In the first project, the rows of others have lower amounts than the person's, in the second higher ones.
await views.admin`insert into data.pays (app_id, id, owner, amount, note, project, "isOpen")
    select ${app.id}, gen_random_uuid(), ${me}, 100000 + n, 'mine', (${projects}::uuid[])[1 + n % 2], true
    from generate_series(1, 200) as n`;
await views.admin`insert into data.pays (app_id, id, owner, amount, note, "isOpen")
    select ${app.id}, gen_random_uuid(), gen_random_uuid(), ${FULL} + n, 'other', true
    from generate_series(1, ${HIDDEN}) as n`;
await views.admin`insert into data.pays (app_id, id, owner, amount, note, project, "isOpen")
    select ${app.id}, gen_random_uuid(), gen_random_uuid(), n % 2 * 200000 + n, 'other', (${projects}::uuid[])[1 + n % 2], true
    from generate_series(1, ${HIDDEN}) as n`;
await views.admin`vacuum analyze data.pays`;

const MEASURES = { measurePage, measureGroups, measureDryDelete } as const;
type Measure = keyof typeof MEASURES;

async function measure(role: string, [how, text]: readonly [Measure, string], table = "pays") {
  const caller = callers[role];
  if (caller === undefined) throw new Error(role);
  const run = () => MEASURES[how](views, { appId: app.id, caller, table }, text);
  // The first call of a session also reads the catalog.
  await run();
  const found = await run();
  return typeof found === "number" ? found : found.buffers;
}

const cursorAt = (amount: number) =>
  Buffer.from(
    JSON.stringify(["amount.asc,id.asc", `${amount}`, "00000000-0000-7000-8000-000000000000"]),
  ).toString("base64url");

const CASES: readonly (readonly [string, (from: number) => readonly [Measure, string]])[] = [
  [
    "a page in the order of the range",
    (from) => ["measurePage", `${toRange(from)}&order=amount&limit=20`],
  ],
  ["a page of the range", (from) => ["measurePage", `${toRange(from)}&limit=20`]],
  [
    "a page with a condition",
    (from) => ["measurePage", `${toRange(from)}&order=amount.desc&isOpen=eq.true&limit=20`],
  ],
  [
    "a page from a cursor on",
    (from) => [
      "measurePage",
      `order=amount&amount=lt.${from + 10_000}&limit=20&after=${cursorAt(from)}`,
    ],
  ],
  [
    "values of a list",
    (from) => [
      "measurePage",
      `amount=in.(${[1, 2, 3, 4].map((n) => from + n).join(",")})&limit=20`,
    ],
  ],
  ["an exact count", (from) => ["measurePage", `${toRange(from)}&limit=1&count`]],
  ["groups", (from) => ["measureGroups", `by=note&${toRange(from)}`]],
  ["a dry delete", (from) => ["measureDryDelete", toRange(from)]],
];
const toRange = (from: number) => `amount=gte.${from}&amount=lt.${from + 10_000}`;

test.each(ROLES.flatMap((role) => CASES.map(([name, ask]) => ({ role, name, ask }))))(
  "$name of the role $role reads the same",
  async ({ role, ask }) => {
    const [full, empty] = [await measure(role, ask(FULL)), await measure(role, ask(EMPTY))];
    expect(Math.abs(full - empty)).toBeLessThan(20 + empty / 50);
  },
);

test.each(ROLES)("children of a parent, of the role %s", async (role) => {
  const read = async (order: string) =>
    await measure(
      role,
      [
        "measurePage",
        `limit=1&order=${order}&select=name,pays(amount)&pays.limit=2&pays.order=amount`,
      ],
      "projects",
    );
  const [first, last] = [await read("id"), await read("id.desc")];
  expect(Math.abs(first - last)).toBeLessThan(20 + last / 50);
});

test("rows of a reference read the same, whatever rows of others have its value", async () => {
  const ask = (from: number) =>
    measure("member", [
      "measurePage",
      `project=eq.${projects[1]}&amount=gte.${from}&order=amount&limit=20`,
    ]);
  const [full, empty] = [await ask(200_000), await ask(300_000)];
  expect(Math.abs(full - empty)).toBeLessThan(20 + empty / 50);
});
