/**
 * Checks the SQL functions of the service, and those that a push generates, with `plpgsql_check`: names, types, operators,
 * unused variables, and paths without a result. PostgreSQL itself checks a statement only when it runs.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { PREVIEWS } from "../../src/preview.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { renderFunctions } from "../../src/tables/sql/functions/functions.ts";
import { EVERY_KIND } from "../contract/every_kind.ts";
import {
  type DebianCluster,
  hasPlpgsqlCheck,
  runTool,
  startDebianCluster,
} from "../support/debian_cluster.ts";
import { definitionOf, openTestService, type TestService } from "../support/service.ts";

/** Reported, but right. */
const EXPECTED = [
  // The loop ends only by `return`.
  /claim_key\(.*control reached end of function without RETURN$/,
  // The declaration of the variable is the proof of the caller.
  /console_(?:find|list)_\w+\(.*never read variable "who"$/,
  // Only deletes read what the statement of the proof sets for listeners.
  /never read variable "\$listens"$/,
  // Only tables with a time as default read it.
  /_create_group\(.*never read variable "\$now"$/,
  // Where rows without a first value begin: only some indexes have such rows.
  /__finder\(.*unused parameter "\$6"$/,
  // An empty array as `'{}'`.
  /target type is different type than source type cast "text" value to "\w+\[\]" type$/,
];

let cluster: DebianCluster;
let service: TestService;

describe.skipIf(!hasPlpgsqlCheck)("plpgsql_check", () => {
  beforeAll(async () => {
    cluster = await startDebianCluster();
    service = await openTestService({
      cluster: { admin: cluster.url, serving: cluster.url, prepare: true },
      service: { previews: PREVIEWS },
    });
    const app = await service.makeApp(EVERY_KIND);
    // Its tables get listeners.
    await setAppSwitch(service.service, app.slug, ["live", true]);
    runSql("create extension plpgsql_check schema public");
  }, 60_000);
  afterAll(async () => {
    await service.close();
    await cluster.stop();
  });

  test.each(["rowhouse, find", "api"])("finds no issue in the functions of schema %s", (schemas) =>
    expect(findIssues(schemas)).toEqual([]),
  );

  test("finds no issue in the functions for tables of a Citus cluster", () => {
    const { tables } = definitionOf(EVERY_KIND);
    const site = { dialect: "citus" } as const;
    const statements = tables.flatMap((table) => renderFunctions({ ...table, walks: [] }, site));
    // This server has no nodes.
    const local = statements.filter(
      (text) => !text.includes("perform create_distributed_function("),
    );
    expect(local.length).toBeLessThan(statements.length);
    runSql(local.join(";\n"));
    expect(findIssues("api")).toEqual([]);
  });
});

function findIssues(schemas: string): string[] {
  const functions = `from pg_proc left join pg_trigger on tgfoid = pg_proc.oid
    where pronamespace = any ('{${schemas}}'::regnamespace[])
      and prolang = (select oid from pg_language where lanname = 'plpgsql')`;
  expect(Number(runSql(`select count(*) ${functions}`))).toBeGreaterThan(50);
  const issues = runSql(`select concat_ws(' ', name, message, detail)
    from (select pg_proc.oid::regprocedure as name, coalesce(tgrelid, 0) as "table", tgoldtable, tgnewtable
      ${functions}) as checked,
      public.plpgsql_check_function_tb(name, "table", fatal_errors := false, oldtable := tgoldtable,
        newtable := tgnewtable) order by 1`);
  const isExpected = (issue: string) => EXPECTED.some((pattern) => pattern.test(issue));
  return issues.split("\n").filter((issue) => issue !== "" && !isExpected(issue));
}

function runSql(text: string): string {
  const args = [service.database.adminUrl, "-XAtq", "--set=ON_ERROR_STOP=1"];
  return runTool("psql", args, text);
}
