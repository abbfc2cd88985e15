/** The second step of an upgrade, and what a database keeps until then for processes of earlier releases. */
import { describe, expect, test } from "bun:test";
import { CONTRACTED, KEPT } from "../../src/db/code/mod.ts";
import {
  CONTRACTED_FROM,
  compareMigrations,
  migrate,
  readRows,
  readValue,
} from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { dumpCatalog } from "../support/catalog_dump.ts";
import { makeEmptyDatabase, withDatabase } from "../support/cluster.ts";
import { makeProject, runHere } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { expectSentences } from "../support/sentences.ts";
import { definitionOf, openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const project = await share(makeProject());
const EARLIER = "0.1.1 (tables 11, code 0123456789ab)";

/** A database that an earlier release has set up, and this one has migrated; the tests copy it. */
const original = await share(makeEmptyDatabase());
await withDatabase(original.url, async (admin) => {
  await migrate(admin, { keepsEarlier: true });
  await admin.message("update rowhouse.release set features = '{filters,history,live}'; select 1");
});

async function openUpgraded() {
  const empty = await makeEmptyDatabase(original.url);
  const env = { ADMIN_DATABASE_URL: empty.url };
  return {
    url: empty.url,
    run: (...words: string[]) => runHere(["migrate", ...words], { ...project, env }),
    doctor: () => runHere(["doctor"], { ...project, env }),
    query: <Row>(sql: string) => withDatabase(empty.url, (admin) => readRows<Row>(admin, sql)),
    /** What is left: the kept functions, and the names of previews. */
    read: () =>
      withDatabase(empty.url, async (admin) => ({
        kept: await readValue<string[]>(
          admin,
          `select to_json(array(select proname::text from pg_proc where pronamespace = 'rowhouse'::regnamespace
            and proname = any ('{${Object.keys(KEPT.functions).join(",")}}') order by proname)) as names`,
        ),
        features: await readValue<string[]>(
          admin,
          "select to_json(features) from rowhouse.release",
        ),
        isContracted: (await compareMigrations(admin)).isContracted,
      })),
    [Symbol.asyncDispose]: () => empty[Symbol.asyncDispose](),
  };
}

const BEFORE = {
  kept: Object.keys(KEPT.functions).toSorted(),
  features: ["filters", "history", "live"],
  isContracted: false,
};
const AFTER = { kept: [], features: [], isContracted: true };

describe("migrate --contract", () => {
  test("removes what only earlier releases need, after a confirmation, and migrate never does", async () => {
    expect(BEFORE.kept.length).toBeGreaterThan(0);
    await using upgraded = await openUpgraded();
    const { run, read, doctor } = upgraded;
    expect((await run()).code).toBe(0);
    expect(await run()).toEqual({ code: 0, out: "Nothing to do\n", err: "" });
    expect(await read()).toEqual(BEFORE);
    expect((await doctor()).out).toContain("run rowhouse migrate --contract");

    const planned = await run("--contract", "--dry-run");
    expect(await read()).toEqual(BEFORE);
    const asked = await run("--contract");
    expect([asked.code, asked.out]).toEqual([1, ""]);
    expect(await read()).toEqual(BEFORE);

    const done = await run("--contract", "--yes");
    const count = `${BEFORE.kept.length} functions`;
    expectSentences([planned.out, asked.err, done.out].join(""), {
      names: ["--yes", count],
      varies: { [count]: "<count> functions" },
    });
    expect(await read()).toEqual(AFTER);
    expect((await doctor()).out).not.toContain("--contract");
    for (const words of [[], ["--contract"], ["--contract", "--dry-run"]])
      expect([words, await run(...words)]).toEqual([
        words,
        { code: 0, out: "Nothing to do\n", err: "" },
      ]);
    expect(await read()).toEqual(AFTER);
    await using fresh = await makeEmptyDatabase();
    const options = { ...project, env: { ADMIN_DATABASE_URL: fresh.url } };
    expect((await runHere(["migrate"], options)).code).toBe(0);
    expect(await withDatabase(upgraded.url, dumpCatalog)).toEqual(
      await withDatabase(fresh.url, dumpCatalog),
    );
    expect(await runHere(["migrate", "--contract"], options)).toMatchObject({
      out: "Nothing to do\n",
    });
  });

  test("is rejected until no earlier process was seen for an hour, also one that begins meanwhile", async () => {
    await using upgraded = await openUpgraded();
    const { run, read, query } = upgraded;
    await run();
    const add = (version: string, minutes: number, ended = "null") =>
      query(`insert into rowhouse.processes (id, role, version, started_at, minute, seen_at, ended_at)
        values (gen_random_uuid(), 'all', '${version}', now(), now(), now() - interval '${minutes} minutes', ${ended})`);
    await add("0.1.0 (tables 7, code 0123456789ab)", 61);
    await add("0.2.0 (tables 12, code 0123456789ab)", 0);
    await add(EARLIER, 59, "now()");
    const rejected = await run("--contract", "--yes");
    expect([rejected.code, rejected.out]).toEqual([1, ""]);
    expect(rejected.err).toContain(`1 process of ${EARLIER}, until 20`);
    expect(rejected.err).not.toContain("0.1.0");
    expect(await read()).toEqual(BEFORE);
    await query("update rowhouse.processes set seen_at = seen_at - interval '2 minutes'");
    expect((await run("--contract", "--yes")).code).toBe(0);
    expect(await read()).toEqual(AFTER);
  });

  test("can be killed and run again", async () => {
    await using upgraded = await openUpgraded();
    const { run, read, doctor, query } = upgraded;
    await run();
    await withDatabase(upgraded.url, async (blocking) => {
      const held = blocking.message(
        "lock table rowhouse.release in share mode; select pg_sleep(60)",
      );
      void held.catch(() => undefined);
      const LOCKS = "pg_locks where relation = 'rowhouse.release'::regclass and";
      const isLocked = async () =>
        (await query(`select from ${LOCKS} granted and mode = 'ShareLock'`)).length > 0;
      await eventually(isLocked);
      let isEnded = false;
      const killed = run("--contract", "--yes").finally(() => {
        isEnded = true;
      });
      // Its last step waits for the lock, each time for a moment, with a new connection after it was killed between two times.
      await eventually(async () => {
        await query(`select pg_terminate_backend(pid) from ${LOCKS} not granted`);
        return isEnded;
      });
      expect((await killed).code).not.toBe(0);
      await query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query like 'lock table rowhouse.release%'`);
    });
    const between = { ...AFTER, features: BEFORE.features };
    expect(await read()).toEqual(between);
    expect((await doctor()).out).toContain("run rowhouse migrate --contract");
    await run();
    expect(await read()).toEqual(between);
    expect((await run("--contract", "--yes")).code).toBe(0);
    expect(await read()).toEqual(AFTER);
  });

  test("needs a migrated database, and no other step", async () => {
    await using upgraded = await openUpgraded();
    await upgraded.query("update rowhouse.code set digest = 'sha256:0'");
    const runs = [
      await upgraded.run("--contract", "--yes"),
      await upgraded.run("--contract", "--citus"),
    ];
    expect(runs.map(({ code, out }) => [code, out])).toEqual([
      [1, ""],
      [2, ""],
    ]);
    expectSentences(runs.map(({ err }) => err).join(""), {
      names: ["rowhouse migrate first", "--citus"],
    });
    expect(await upgraded.read()).toEqual(BEFORE);
  });
});

test("the rights of kept functions and of others are separate statements", () => {
  const kept = Object.keys(KEPT.functions);
  const names = (right: string) => right.match(/(?<=rowhouse\.)\w+/g) ?? [];
  expect(
    CONTRACTED.rights.filter((right) => names(right).some((name) => kept.includes(name))),
  ).toEqual([]);
  expect(KEPT.rights.filter((right) => names(right).some((name) => !kept.includes(name)))).toEqual(
    [],
  );
});

test("pushes wait while a process of an earlier release runs", async () => {
  await using service = await openTestService();
  const app = await service.makeApp();
  const push = (name: string) =>
    service.call(app, "/v1/data/schema", {
      method: "POST",
      json: {
        steps: [
          {
            kind: "define",
            definition: definitionOf(defineSchema({ [name]: { title: t.string() } })),
          },
        ],
      },
    });
  const id = crypto.randomUUID();
  await service.service.admin.message(
    `insert into rowhouse.processes (id, role, version, started_at, minute) values ('${id}', 'gateway', '${EARLIER}', now(), now()); select 1`,
  );
  const rejected = await push("notes");
  expect([rejected.status, rejected.headers.get("retry-after")]).toEqual([409, "1"]);
  expect(rejected.json).toMatchObject({
    error: "push_busy",
    message: expect.stringContaining(`a process of a release before ${CONTRACTED_FROM} runs`),
  });
  for (const set of [
    "ended_at = now()",
    "ended_at = null, seen_at = now() - interval '4 minutes'",
  ]) {
    await service.service.admin.message(
      `update rowhouse.processes set ${set} where id = '${id}'; select 1`,
    );
    expect((await push(`notes_${set.slice(0, 5)}`)).status).toBe(200);
    await service.service.admin.message(
      `update rowhouse.processes set ended_at = null, seen_at = now() where id = '${id}'; select 1`,
    );
    expect((await push("more")).status).toBe(409);
  }
});
