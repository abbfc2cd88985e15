/** What a list of a person reads: a few entries of the index of each alternative, however many rows the table has. */
import { expect, test } from "bun:test";
import { functionName, viewOf } from "../../src/tables/catalog/mod.ts";
import { openPersonViews, ROW_ENDPOINTS, type TestCaller } from "../support/person_views.ts";
import { declareRules, tableOf } from "../support/rules.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const TABLES = declareRules({
  teams: { columns: { name: "string" }, rules: { allow: { own: { read: true } } } },
  members: {
    columns: { person: "uuid", team: { kind: "ref", table: "teams" } },
    indexes: [["person", "team"]],
  },
  notes: {
    columns: {
      owner: "uuid",
      team: { kind: "ref", table: "teams" },
      isOpen: "boolean",
      title: "string",
    },
    indexes: [
      ["owner", "id"],
      ["team", "id"],
    ],
    rules: {
      allow: {
        all: { read: true },
        own: { read: { owner: "me" } },
        open: { read: { owner: "me", isOpen: true } },
        team: { read: [{ owner: "me" }, { team: { memberOf: "members" } }] },
      },
    },
  },
  // Indexes with another column before the id, except that of the reference.
  plain: {
    columns: {
      owner: "uuid",
      team: { kind: "ref", table: "teams" },
      isOpen: "boolean",
    },
    indexes: [["owner", "isOpen"]],
    rules: {
      allow: {
        own: { read: { owner: "me", isOpen: true } },
        team: { read: [{ owner: "me" }, { team: { memberOf: "members" } }] },
      },
    },
  },
});
const ROLES = ["all", "own", "open", "team"] as const;

const people: Partial<Record<string, TestCaller>> = {};
const service = await share(openTestService({ service: { ...UNGUARDED, previews: ["browser"] } }));
const app = await service.makeApp();
const views = await share(openPersonViews(service, { app, tables: TABLES }, ROW_ENDPOINTS));
const teams = Array.from({ length: 40 }, () => Bun.randomUUIDv7());
for (const team of teams)
  await views.admin.unsafe("insert into data.teams (app_id, id) values ($1, $2)", [app.id, team]);
for (const role of ROLES) {
  const person = await views.makeCaller(role);
  people[role] = person;
  for (const team of teams.slice(0, 3))
    await views.admin.unsafe(
      "insert into data.members (app_id, id, person, team) values ($1, gen_random_uuid(), $2, $3)",
      [app.id, person.id, team],
    );
}
const owners = ROLES.map((role) => people[role]?.id ?? "");
await addRows(30_000, `{${owners.join(",")}}`, `{${teams.join(",")}}`);

/** One row of 30 has each of the owners, and one of 40 each of the teams. */
async function addRows(count: number, owners: string, teams: string): Promise<void> {
  await views.admin.unsafe(
    `insert into data.notes (app_id, id, owner, team, "isOpen", title)
      select $1, gen_random_uuid(), coalesce(($2::uuid[])[1 + n % 30], gen_random_uuid()),
        ($3::uuid[])[1 + n / 30 % 40], n % 7 = 0, 'note'
      from generate_series(1, ${count}) as n`,
    [app.id, owners, teams],
  );
  await views.admin.unsafe("vacuum analyze data.notes");
}

type Explained = [{ Plan: Record<string, number> }];

/** The buffers that a page reads, and its rows. */
async function measure(
  role: string,
  limit: number,
  named = "notes",
): Promise<{ buffers: number; rows: number }> {
  const person = people[role];
  const table = tableOf(TABLES, named);
  const view = viewOf(app.id, TABLES, table, role);
  if (person === undefined || view === undefined) throw new Error(`No ${role}`);
  const name = functionName({ ...table, view }, "list");
  const call = `api."${name}"($1, $2, $3, 0, 8388608, '', null)`;
  const parameters = [app.id, person.proof, limit];
  const [page] = await views.admin.unsafe(`select ${call} as body`, parameters);
  const text = String(page?.["body"]);
  const { rows } = JSON.parse(text.slice(text.indexOf("{"))) as { rows: unknown[] };
  const [explained] = await views.admin.unsafe(
    `explain (analyze, buffers, format json) select ${call}`,
    parameters,
  );
  const plan = (explained?.["QUERY PLAN"] as Explained | undefined)?.[0].Plan ?? {};
  return {
    buffers: (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0),
    rows: rows.length,
  };
}

test.each([
  { role: "all", limit: 20, max: 75 },
  { role: "own", limit: 20, max: 75 },
  { role: "open", limit: 20, max: 400 },
  { role: "team", limit: 20, max: 250 },
  { role: "own", limit: 100, max: 300 },
  { role: "team", limit: 100, max: 1000 },
])("a list of $limit rows with the rule $role reads at most $max buffers", async (page) => {
  // The first calls of a session also read the catalog.
  for (let at = 0; at < 4; at++) await measure(page.role, page.limit);
  const { buffers, rows } = await measure(page.role, page.limit);
  expect(rows).toBe(page.limit);
  expect(buffers).toBeLessThan(page.max);
});

test("a list by an index without the id reads the rows with the values, and sorts them", async () => {
  await views.admin.unsafe(
    `insert into data.plain (app_id, id, owner, team, "isOpen")
      select app_id, id, owner, team, "isOpen" from data.notes where app_id = $1`,
    [app.id],
  );
  await views.admin.unsafe("vacuum analyze data.plain");
  for (const [role, max] of [
    ["own", 1500],
    ["team", 4000],
  ] as const) {
    for (let at = 0; at < 4; at++) await measure(role, 20, "plain");
    const { buffers, rows } = await measure(role, 20, "plain");
    expect(rows).toBe(20);
    // A row costs a page: the person has 1,000 rows, and each of the three teams 750.
    expect(buffers).toBeLessThan(max);
    const { call } = people[role] ?? {};
    const list = async (table: string) => {
      const values = { limit: 30, offset: 7, bytes: 1e6, known: "", inline: null };
      const text = (await call?.(table, { endpoint: "list", values })) ?? "";
      const page = JSON.parse(text.slice(text.indexOf("{"))) as { rows: { id: string }[] };
      return page.rows.map(({ id }) => id);
    };
    if (role === "team") expect(await list("plain")).toEqual(await list("notes"));
  }
});

test("a list by such an index fails if the person has too many rows with the values", async () => {
  const person = people["team"];
  await views.admin.unsafe(
    `insert into data.plain (app_id, id, owner)
      select $1, gen_random_uuid(), $2 from generate_series(1, 10000) as n`,
    [app.id, person?.id ?? ""],
  );
  const failed = await measure("team", 1, "plain").catch((error: { code: string }) => error.code);
  expect(failed).toBe("RH020");
});
