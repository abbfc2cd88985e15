/**
 * What the pages of people read whose rule has constants: an alternative is a walk along its own index, so a page costs the same
 * however many rows the table has, on PostgreSQL 18 and 15, with current and old statistics.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, type Rule, type TableRules, t } from "../../src/schema/mod.ts";
import { MEASURED_SERVERS } from "../support/buffers.ts";
import { type Measured, measurePage } from "../support/person_costs.ts";
import { openPersonViews, type PersonViews, type TestCaller } from "../support/person_views.ts";
import { openOnVersion } from "../support/postgres_versions.ts";
import { type TestApp, type TestService, UNGUARDED } from "../support/service.ts";

const schema = defineSchema({
  teams: t.model({ name: t.string() }),
  members: t
    .model({ person: t.uuid().required(), team: t.ref("teams").required() })
    .index("person", "team"),
  notes: t
    .model({
      title: t.string().required(),
      owner: t.uuid().required(),
      team: t.ref("teams"),
      status: t.enum(["open", "done", "lost"]).required().index(),
      stage: t.enum(["new", "old"]).index(),
      place: t.string().required().index(),
      level: t.integer().index(),
      score: t.number().index(),
      isOpen: t.boolean().required(),
      state: t.enum(["a", "b"]).required(),
      at: t.integer().required(),
    })
    .index("owner", "id")
    .index("team", "id")
    .index("owner", "status")
    .index("owner", "place")
    .index("owner", "at")
    .index("at")
    .index("state", "at"),
});
const READ: Readonly<Record<string, Rule>> = {
  own: [{ owner: "me" }],
  level: [{ level: 5 }],
  levels: [{ level: [5, 6, 7] }],
  noLevel: [{ level: null }],
  status: [{ status: "lost" }],
  statuses: [{ status: ["lost", "done"] }],
  stage: [{ stage: "new" }],
  noStage: [{ stage: null }],
  place: [{ place: "rare" }],
  places: [{ place: ["rare", "odd"] }],
  score: [{ score: 5 }],
  ownStatus: [{ owner: "me", status: "lost" }],
  ownStatuses: [{ owner: "me", status: ["lost", "done"] }],
  ownPlace: [{ owner: "me", place: "rare" }],
  rest: [{ status: "lost", isOpen: true }],
  unordered: [{ state: "a", isOpen: true }],
  any: [{ owner: "me" }, { status: "lost" }, { place: "rare" }, { team: { memberOf: "members" } }],
};
const rules: Record<string, TableRules> = {
  notes: {
    allow: Object.fromEntries(Object.entries(READ).map(([role, read]) => [role, { read }])),
  },
};
const ROLES = Object.keys(READ);
const ROWS = 100_000;
const PART = 10_000;
/** Max buffers of a page: the key, the tag, and a few for each row of each walk. */
const SERVED = 900;
/** Max buffers of a sort. The widest rule has 8,000 rows, and old statistics lead to a scan of the 2,700 pages of the table. */
const FOUND = 12_000;
/** Rules whose lists are not walks, because a column is an enum or no index has their order: PostgreSQL can read all of their rows. */
const UNWALKED = new Set([
  "status",
  "statuses",
  "stage",
  "noStage",
  "ownStatuses",
  "rest",
  "unordered",
  "any",
]);

describe.each(MEASURED_SERVERS)("on $name with $statistics statistics", ({ isDebian, isStale }) => {
  let service: TestService;
  let app: TestApp;
  let views: PersonViews;
  const callers: Record<string, TestCaller> = {};
  beforeAll(async () => {
    service = await openOnVersion(isDebian, {
      service: { ...UNGUARDED, previews: ["filters", "live"] },
    });
    app = await service.makeApp(schema);
    const endpoints = ["list", "find", "walk", "find_groups"] as const;
    views = await openPersonViews(service, { app, schema, rules }, endpoints);
    const me = crypto.randomUUID();
    for (const role of ROLES) callers[role] = await views.makeCaller(role, { id: me });
    const teams = Array.from({ length: 40 }, () => Bun.randomUUIDv7());
    await views.admin`insert into data.teams (app_id, id) select ${app.id}, unnest(${teams}::uuid[])`;
    for (const team of teams.slice(0, 3))
      await views.admin`insert into data.members (app_id, id, person, team)
        values (${app.id}, gen_random_uuid(), ${me}, ${team})`;
    await views.admin`alter table data.notes set (autovacuum_enabled = off)`;
    // Statistics of a few rows, each of which every rule has.
    if (isStale) {
      await fill({ me, teams, from: 0, rows: 3 });
      await views.admin`update data.notes set owner = ${me}, status = 'lost', place = 'rare', level = 5, stage = 'new'`;
      await views.admin`analyze data.notes`;
    }
    for (let from = 3; from < ROWS; from += PART) await fill({ me, teams, from, rows: PART });
    if (!isStale) await views.admin`vacuum analyze data.notes`;
  }, 600_000);
  afterAll(async () => {
    await views?.close();
    await service?.close();
  });

  type Filled = { me: string; teams: readonly string[]; from: number; rows: number };
  /** The rows that rules have come late. */
  async function fill({ me, teams, from, rows }: Filled): Promise<void> {
    await views.admin`insert into data.notes (app_id, id, title, owner, team, status, stage, place, level, score, "isOpen", state, at)
      select ${app.id}, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'note',
        case when n % 300 = 0 and n > 50000 then ${me}::uuid else gen_random_uuid() end,
        (${teams as string[]}::uuid[])[1 + n % 40],
        (case when n % 300 = 0 and n > 50000 then 'lost' when n % 3 = 0 and n > 90000 then 'done' else 'open' end)::data.notes__status__enum,
        (case when n % 300 = 0 and n > 50000 then null when n % 299 = 0 and n > 50000 then 'new' else 'old' end)::data.notes__stage__enum,
        case when n % 300 = 0 and n > 50000 then 'rare' when n % 301 = 0 and n > 50000 then 'odd' else 'Place ' || n % 50 end,
        case when n % 300 = 0 and n > 50000 then null when n > 50000 then n % 200 else 1000 + n % 50 end,
        n % 200, n % 2 = 0, (case when n % 300 = 0 and n > 50000 then 'a' else 'b' end)::data.notes__state__enum, n
      from generate_series(${from}::int4 + 1, ${from}::int4 + ${rows}::int4) as n`;
  }

  async function measure(role: string, text: string): Promise<Measured> {
    const caller = callers[role];
    if (caller === undefined) throw new Error(role);
    const asked = { appId: app.id, caller, table: "notes" };
    // The first calls of a session also read the catalog.
    for (let at = 0; at < 2; at++) await measurePage(views, asked, text);
    return await measurePage(views, asked, text);
  }

  // The value of the only alternative is the first of the index (owner, at, id).
  test.each([
    "order=at&limit=20",
    "order=at.desc&limit=20",
    "order=at.desc&isOpen=eq.true&limit=20",
  ])("own rows by %s read few buffers", async (text) => {
    const first = await measure("own", text);
    const later = await measure("own", `${text}&after=${first.next}`);
    for (const { buffers, rows } of [first, later]) {
      expect(rows).toBe(20);
      expect(buffers).toBeLessThan(text.includes("isOpen") ? FOUND : 100);
    }
  });

  describe.each(ROLES)("who reads by the rule %s", (role) => {
    test.each(["limit=20", "limit=20&offset=5", "order=id.desc&limit=20"])(
      "%s reads few buffers",
      async (text) => {
        const { buffers, rows } = await measure(role, text);
        expect(rows).toBe(20);
        expect(buffers).toBeLessThan(UNWALKED.has(role) ? FOUND : SERVED);
      },
    );

    test("a sort reads the rows of the rule, or at most each page of the table", async () => {
      const { buffers, rows } = await measure(role, "order=title,at.desc&limit=20");
      expect(rows).toBe(20);
      expect(buffers).toBeLessThan(FOUND);
    });

    test("a later page reads few buffers", async () => {
      const { next } = await measure(role, "order=id&limit=20");
      const { buffers, rows } = await measure(role, `order=id&limit=20&after=${next}`);
      expect(rows).toBe(20);
      expect(buffers).toBeLessThan(UNWALKED.has(role) ? FOUND : SERVED);
    });

    test("a condition that no row meets reads as much as a sort", async () => {
      const { buffers, rows } = await measure(role, "title=eq.none&limit=20");
      expect(rows).toBe(0);
      expect(buffers).toBeLessThan(FOUND);
    });
  });
});
