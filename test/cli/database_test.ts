/** The version of PostgreSQL that is served, and the server of this test run. @module */
import { expect, test } from "bun:test";
import postgres from "postgres";
import { checkVersion, evaluateVersion } from "../../src/cli/database.ts";
import { openDatabase, readRows } from "../../src/db/mod.ts";
import { clusterUrls } from "../support/cluster.ts";

test.each([9, 14])("PostgreSQL %d is rejected", (version) => {
  expect(() => evaluateVersion(version)).toThrow(
    new RegExp(`^This PostgreSQL is version ${version}: must be 15 or newer$`),
  );
});

test.each([15, 18, 19])("PostgreSQL %d is accepted", (version) => {
  expect(() => evaluateVersion(version)).not.toThrow();
});

test("the server of this run is accepted and has the expected version", async () => {
  const { admin } = urls();
  const database = openDatabase({ url: admin, connections: 1, prepare: true, name: "version" });
  try {
    await checkVersion(database);
    const [row] = await readRows<{ version: string }>(
      database,
      "select pg_catalog.current_setting('server_version_num') as version",
    );
    expect(Math.floor(Number(row?.version) / 10_000)).toBe(
      Number(process.env["TEST_POSTGRES"] ?? 18),
    );
  } finally {
    await database.close(1);
  }
});

test("this run is served by the expected pooler, or by PostgreSQL directly", async () => {
  const url = new URL(urls().serving);
  url.pathname = "/pgbouncer";
  const sql = postgres(url.href, { max: 1, fetch_types: false, prepare: false });
  const asked = sql.unsafe("show version").simple();
  const response = await asked.then(
    ([row]) => String(row?.["version"]),
    (error: Error) => error.message,
  );
  await sql.end({ timeout: 1 });
  const pooler = process.env["TEST_POOLER"];
  expect(response).toStartWith(pooler ?? 'database "pgbouncer" does not exist');
});

function urls() {
  const found = clusterUrls();
  if (found === undefined) throw new Error("No PostgreSQL: run bun test from the project");
  return found;
}
