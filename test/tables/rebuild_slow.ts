/** Builds of indexes beside those of releases before 0.2.0, with writers and killed processes. */
import { describe, expect, test } from "bun:test";
import postgres from "postgres";
import { call, readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { makeProject, runHere, startCommand } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { buildFormer } from "../support/former_form.ts";
import { whileDone } from "../support/held_lock.ts";
import { postChange } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const testOne = testUnlessCitus("a cluster has no query functions");
const MEMBERS = "/v1/data/db/members";
const schema = defineSchema({
  prices: t.model({ code: t.number().unique() }).index("code", "id"),
  members: t
    .model({
      email: t.string().unique(),
      team: t.string(),
      status: t.enum(["a", "b"]),
      note: t.string().index(),
    })
    .unique("status", "team")
    .index("status", "note"),
});
/** Those of 0.1 without the preview `filters`. */
const FORMER = [
  "members__email__key",
  "members__note__idx",
  "members__status__note__idx",
  "members__status__team__key",
];
const SEARCH = [
  "members__email__search_key",
  "members__note__search_idx",
  "members__status__note__sorted_idx",
  "members__status__team__sorted_key",
];
const BOTH = [...FORMER, ...SEARCH].sort();

const project = await share(makeProject());
const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const create = (json: object) => service.call(app, MEMBERS, { method: "POST", json });
for (let n = 0; n < 20; n++) expect((await create({ email: `first ${n}` })).status).toBe(201);

function settings() {
  const { adminUrl, servingUrl, prepare } = service.database;
  const env = {
    ADMIN_DATABASE_URL: adminUrl,
    DATABASE_URL: servingUrl,
    DATABASE_PREPARE: prepare ? "on" : "off",
    IDENTITY_SECRET: TEST_IDENTITY_SECRET,
  };
  return { ...project, env };
}

async function migrate(...words: string[]): Promise<void> {
  const { code, err } = await runHere(["migrate", ...words], settings());
  expect([code, err]).toEqual([0, ""]);
}

/** As before the upgrade. */
async function goBack(): Promise<void> {
  for (const table of ["members", "prices"]) await buildFormer(service.service.admin, table);
  expect(await listIndexes(true)).toEqual(FORMER);
}

/** Runs statements as an operator. */
async function run(...statements: string[]): Promise<void> {
  const superuser = postgres(service.database.superuserUrl, { max: 1, onnotice: () => undefined });
  for (const statement of statements) await superuser.unsafe(statement);
  await superuser.end();
}

async function listIndexes(isValid: boolean): Promise<string[]> {
  const rows = await readRows<{ name: string }>(
    service.service.admin,
    `select relname as name from pg_catalog.pg_index join pg_catalog.pg_class on oid = indexrelid
    where indrelid = pg_catalog.to_regclass('data.members') and indisvalid = $1 and not indisprimary
    order by relname collate "C"`,
    [isValid],
  );
  return rows.map(({ name }) => name);
}

async function readUnfinished(): Promise<unknown[]> {
  const sql = "select name, state from rowhouse.deferred_steps where state <> 'done'";
  return await readRows(service.service.admin, sql);
}

async function expectIndexes(indexes: readonly string[]): Promise<void> {
  expect(await listIndexes(true)).toEqual([...indexes]);
  expect(await listIndexes(false)).toEqual([]);
  expect(await readUnfinished()).toEqual([]);
  expect(await readDrift(service.service.admin)).toEqual([]);
  expect((await makeIsolationCheck(service.service.admin)()).issues).toEqual([]);
}

/** Each writer creates, changes and deletes rows with the same few values as the others. */
async function write(writer: number, state: { isOver: boolean }): Promise<void> {
  for (let turn = 0; !state.isOver; turn++) {
    const value = Math.floor(turn / 2);
    const row = { email: `${"e".repeat(70)} ${value}`, note: `writer ${writer}` };
    const made = await create(row);
    const code = await service.call(app, "/v1/data/db/prices", {
      method: "POST",
      json: { code: value },
    });
    const pair = await create({ status: "a", team: `team ${value}` });
    for (const [{ status, text }, paths] of [
      [made, ["/email"]],
      [code, ["/code"]],
      [pair, ["/status", "/team"]],
    ] as const) {
      if (status === 201) continue;
      const found = JSON.parse(text) as { error: string; details?: { path: string }[] };
      expect([status, found.error, found.details?.map(({ path }) => path)]).toEqual([
        409,
        "unique_violation",
        [...paths],
      ]);
    }
    if (made.status !== 201) continue;
    const { id } = made.json as { id: string };
    const path = `${MEMBERS}/${id}`;
    const changed = await service.call(app, path, { method: "PATCH", json: { note: "kept" } });
    expect([changed.status, changed.json]).toEqual([200, expect.objectContaining({ id })]);
    const other = await create({ note: "gone" });
    const gone = `${MEMBERS}/${(other.json as { id: string }).id}`;
    expect((await service.call(app, gone, { method: "DELETE" })).status).toBe(204);
    kept.add(id);
  }
}
const kept = new Set<string>();

/** Upserts of the same values by one or all writers: never an error, and one row for each value. */
async function upsert(writer: number, state: { isOver: boolean }): Promise<void> {
  for (let turn = 0; !state.isOver; turn++) {
    const long = `${"u".repeat(70)} ${Math.floor(turn / 2)}`;
    const sent = [
      ["members?onConflict=email", { email: long, note: `writer ${writer}` }],
      ["members?onConflict=email", [{ email: long, note: "list" }, { email: `u ${turn % 5}` }]],
      ["members?onConflict=status,team", { status: "b", team: long }],
      ["prices?onConflict=code", { code: 1_000_000 + turn }],
    ] as const;
    for (const [path, json] of sent) {
      const { status, text } = await service.call(app, `/v1/data/db/${path}`, {
        method: "POST",
        json,
      });
      expect([path, status < 300 ? "" : text]).toEqual([path, ""]);
    }
  }
}

describe.skipIf(citusUrl() !== undefined)("during a build", () => {
  test("writers with the same values get one row each, also while the contract step drops the former indexes", async () => {
    await goBack();
    for (const [words, indexes] of [
      [[], BOTH],
      [["--contract", "--yes"], SEARCH],
    ] as const) {
      const state = { isOver: false };
      const writers = [0, 1, 2, 3].flatMap((writer) => [
        write(writer, state),
        upsert(writer, state),
      ]);
      await migrate(...words).finally(() => {
        state.isOver = true;
      });
      await Promise.all(writers);
      await expectIndexes(indexes);
      const columns = ["members (email)", "members (status, team)", "prices (code)"];
      for (const listed of columns) {
        const [table = "", values = ""] = listed.split(/ (.*)/);
        const sql = `select count(*) from data.${table} where ${values} is not null
        group by app_id, ${values.slice(1, -1)} having count(*) > 1`;
        expect(await readRows(service.service.admin, sql)).toEqual([]);
      }
      const rows = await readRows<{ id: string }>(
        service.service.admin,
        "select id::text from data.members where note = 'kept'",
      );
      expect(new Set(rows.map(({ id }) => id))).toEqual(kept);
    }
  });
});

const WRITE = "update data.members set note = note where email = 'first 0'";

testOne("a killed run leaves an invalid index, and the next run is clean", async () => {
  await goBack();
  await whileDone(service.database.superuserUrl, { text: WRITE }, async () => {
    const migrating = startCommand(["migrate"], settings());
    await eventually(async () => (await listIndexes(false)).length > 0, {
      describe: migrating.output,
    });
    await migrating.kill("SIGKILL");
    await run(
      `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'rowhouse command' and datname = current_database()`,
      "update rowhouse.deferred_steps set lease_until = '-infinity'",
    );
  });
  expect(SEARCH).toEqual(expect.arrayContaining(await listIndexes(false)));
  const { status, json } = await create({ email: "first 3" });
  expect([status, json]).toEqual([
    409,
    expect.objectContaining({ details: [expect.objectContaining({ path: "/email" })] }),
  ]);
  await migrate();
  await expectIndexes(BOTH);
});

testOne(
  "a build renews its lease, and other logins neither drop it nor take steps of its table",
  async () => {
    await goBack();
    const { migrated } = await whileDone(
      service.database.superuserUrl,
      { text: WRITE },
      async () => {
        const migrated = migrate();
        await eventually(async () => (await listIndexes(false)).length > 0);
        const readLease = async () =>
          await readRows<{ name: string; until: string }>(
            service.service.admin,
            "select name, lease_until::text as until from rowhouse.deferred_steps where state = 'running'",
          );
        const [lease] = await readLease();
        const values = { index_name: lease?.name ?? "", table_name: "members" };
        expect(await call(service.pushing, "find_index", values)).toEqual([
          { is_valid: false, is_building: true },
        ]);
        const claim = { after: 0, lease_s: 0 };
        expect(await call(service.pushing, "claim_build", claim)).toMatchObject([
          { table_name: "prices" },
        ]);
        await eventually(async () => (await readLease())[0]?.until !== lease?.until);
        const rename = { kind: "rename_column", table: "members", column: "email", to: "mail" };
        expect((await postChange(service, app, rename)).json).toMatchObject({ error: "push_busy" });
        return { migrated };
      },
    );
    await migrated;
    await expectIndexes(BOTH);
  },
);
