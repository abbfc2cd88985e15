/**
 * Functions that only processes of an earlier release call: nothing renews them, the guard finds every one that is not as it was
 * recorded, and they go with their set, with a run of migrate that finds them changed, and with the second step of the upgrade.
 */
import { describe, expect, test } from "bun:test";
import { call, canContract, contract, FORMER_ENDPOINTS } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { formerSignatures, makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import {
  dropChangedFormer,
  makeCheckBodies,
  readDrift,
  refreshFunctions,
  sweepSets,
} from "../../src/tables/mod.ts";
import { openAdmin } from "../support/admin.ts";
import { citusUrl } from "../support/citus.ts";
import { freshName, postChange, postSchema } from "../support/push.ts";
import { UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

// The tests plant functions, which would stop the service.
const operator = await share(
  openAdmin({ PREVIEW: "filters" }, { service: { ...UNGUARDED, previews: ["filters"] } }),
);
const { service } = operator;
const { admin } = service.service;
const run = (text: string) => admin.message(`${text}; select 1`);

const COUNT = Object.keys(FORMER_ENDPOINTS).length;
const IS_FORMER = `proname ~ '__[0-9a-f]{16}_(${Object.keys(FORMER_ENDPOINTS).join("|")})$'`;
const COLUMNS = { title: t.string().required(), note: t.string() };

/** The statements that create a former function, and let it be called. */
const renderFormer = (signature: string, body = "former") => `
  create or replace function ${signature} returns text language plpgsql security definer
    as 'begin return ''${body}''; end';
  alter function ${signature} owner to rowhouse_tenant;
  revoke all on function ${signature} from public;
  grant execute on function ${signature} to rowhouse_service, rowhouse_data`;

/** Records the former functions of a table as they are now. */
const renderRecord = (table: string) => `
  insert into rowhouse.kept_bodies (signature, endpoint, digest)
  select proname || '(' || oidvectortypes(proargtypes) || ')',
    substring(proname, '__[0-9a-f]{16}_([a-z_]+)$'), md5(btrim(prosrc, E'\\n'))
  from pg_proc where pronamespace = 'api'::regnamespace and ${IS_FORMER}
    and starts_with(proname, '${table}__')`;

/** An app whose table was pushed before the upgrade, and the signatures of its former functions. */
async function openUpgraded(name = freshName()) {
  const app = await service.makeApp(defineSchema({ [name]: COLUMNS }));
  const [set] = await service.query<{ hash: string }>(
    "select hash from rowhouse.column_sets where table_name = $1",
    [name],
  );
  const signatures = formerSignatures({ table: name, hash: set?.hash ?? "" });
  await run(
    [...signatures.map((signature) => renderFormer(signature)), renderRecord(name)].join(";"),
  );
  return { name, app, signatures };
}

const listFormer = async (table: string) =>
  await service.query<{ name: string }>(
    `select oid::regprocedure::text as name from pg_proc where ${IS_FORMER} and starts_with(proname, $1)`,
    [`${table}__`],
  );

/** What the guard of a process that starts now reports, and drift. */
async function listIssues(): Promise<readonly string[]> {
  const { issues } = await makeIsolationCheck(admin)();
  const drift = (await readDrift(admin)).map(({ thing }) => thing);
  return [...issues, ...(await makeCheckBodies(admin)("")), ...drift];
}

describe.skipIf(citusUrl() !== undefined)("former functions", () => {
  test("stay as they are recorded, without an issue", async () => {
    const { name } = await openUpgraded();
    expect(await listIssues()).toEqual([]);
    expect(await refreshFunctions(admin)).toEqual([]);
    expect(await dropChangedFormer(admin)).toEqual([]);
    expect(await listFormer(name)).toHaveLength(COUNT);
  });

  test.each<[string, (signature: string) => string, string]>([
    ["with another body", (signature) => renderFormer(signature, "planted"), "must have the body"],
    [
      "without a record",
      (signature) =>
        `delete from rowhouse.kept_bodies where endpoint = 'query' and '${signature}' like '%' || split_part(signature, '(', 1) || '%'`,
      "must be one that a push recorded",
    ],
    [
      "with other arguments",
      (signature) => renderFormer(signature.replace(/\(.*/, "()")),
      "must be one that a push recorded",
    ],
    [
      "of a set that no push recorded",
      (signature) => renderFormer(signature.replace(/__\w{16}_/, "__0123456789abcdef_")),
      "must be one that a push recorded",
    ],
  ])("%s are found, and dropped by the next migrate", async (_, plant, issue) => {
    const { name, signatures } = await openUpgraded();
    await run(plant(signatures[0] ?? ""));
    expect(await listIssues()).toEqual(
      expect.arrayContaining([
        expect.stringMatching(new RegExp(`^Function api\\.${name}__\\w+.* ${issue}`)),
        expect.stringMatching(new RegExp(`^function ${name}__\\w+_query\\(`)),
      ]),
    );
    expect(await dropChangedFormer(admin)).toEqual([
      expect.stringMatching(new RegExp(`^api\\.${name}__\\w+_query\\(`)),
    ]);
    expect(await listIssues()).toEqual([]);
  });

  test("go with a set whose column is renamed or converted, with a renamed or dropped table, and with an app", async () => {
    for (const change of [
      { kind: "rename_column", column: "title", to: "name" },
      { kind: "retype_column", column: "note", type: { kind: "integer" } },
      { kind: "drop_column", column: "note" },
      { kind: "rename_table", to: freshName() },
      { kind: "drop_table" },
    ]) {
      const { name, app } = await openUpgraded();
      const { status } = await postChange(service, app, { ...change, table: name });
      expect([change.kind, status, await listFormer(name)]).toEqual([change.kind, 200, []]);
    }
    const [ended, deleted] = [await openUpgraded(), await openUpgraded()];
    for (const words of [
      ["end-registration", ended.app.slug, ended.name],
      ["drop-table", ended.name],
      ["delete-app", deleted.app.slug],
    ])
      expect(await operator.run(...words, "--yes")).toMatchObject({ code: 0 });
    for (const { name } of [ended, deleted]) expect(await listFormer(name)).toEqual([]);
    expect(await listIssues()).toEqual([]);
  });

  test("of an unused set go with it; a new set has none, and an earlier process serves nevertheless", async () => {
    const { name, app } = await openUpgraded();
    const grown = defineSchema({ [name]: { ...COLUMNS, more: t.string() } });
    expect(await postSchema(service, app, grown)).toMatchObject({ status: 200 });
    expect(await listFormer(name)).toHaveLength(COUNT);
    const wanted = [{ endpoint: "query", arguments: "uuid, bytea, text, text[], integer, text" }];
    expect(await call(admin, "find_uncallable_tables", { wanted })).toEqual([]);
    await run(`update rowhouse.column_sets set unused_since = now() - interval '2 hours'
      where table_name = '${name}' and unused_since is not null`);
    await sweepSets(admin);
    expect(await listFormer(name)).toEqual([]);
    expect(await listIssues()).toEqual([]);
  });

  test("go with their record in the second step, in parts, also after it was killed", async () => {
    await openUpgraded();
    const many = Array.from(
      { length: 1200 },
      (_, n) => `api.x__${n.toString(16).padStart(16, "0")}_query()`,
    );
    await run(
      many
        .map((name) => `create function ${name} returns text language sql as 'select 1'`)
        .join(";"),
    );
    const countFormer = () => service.query(`select from pg_proc where ${IS_FORMER}`);
    const done: string[] = [];
    const killed = contract(admin, (line) => {
      done.push(line);
      if (line.startsWith("Removed: functions 501 to")) throw new Error("killed");
    });
    await expect(killed).rejects.toThrow("killed");
    expect(await countFormer()).not.toEqual([]);
    expect(await canContract(admin)).toBe(true);
    const rest = await contract(admin, () => undefined);
    expect([done.length, rest.length]).toEqual([2, 2]);
    expect(await countFormer()).toEqual([]);
    expect(await service.query("select from rowhouse.kept_bodies")).toEqual([]);
    expect([await canContract(admin), await contract(admin, () => undefined)]).toEqual([false, []]);
    expect(await listIssues()).toEqual([]);
  });
});
