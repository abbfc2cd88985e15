/**
 * `bun run test:citus`: runs suites of plain PostgreSQL and of Citus on a cluster, with each test database on all of its nodes. The
 * cluster is the one of `CITUS_ADMIN_URL`, or is built from the sources in `CITUS_SOURCE` and started. Fails without both.
 *
 * @module
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readReport, readSkipped } from "../ci/report.ts";
import { citusUrl, closeDatabase, TEST_TEMPLATE } from "../support/citus.ts";
import { makeDatabase, withRoot } from "../support/cluster.ts";
import { buildCitus, CITUS_BIN, startCitus } from "./cluster.ts";

/**
 * Files that are left out, by their names: of what a cluster rejects (live updates, history, read-only apps, changes of tables other than
 * new columns), and those that read statements, locks and plans of one PostgreSQL.
 */
const PLAIN = new RegExp(
  [
    ...["change", "retype", "replay", "live", "history", "listeners", "read_only", "first_request"],
    ...["reader", "fuzz", "lock_order", "walk_indexes", "long_texts", "claim_rows", "ended_use"],
    ...["signed_claims", "person_model", "attacks_push", "attacks_references", "stolen_login"],
    ...["_cost_", "hostile_plan", "planted", "find_plans", "list_pipeline", "streams", "refresh"],
  ].join("|"),
);
/** By their text: of such changes, or with functions that are made by hand for one server. */
const BY_HAND = /schema:drop|dropTable|renameTable|support\/(?:person_views|rules_service)/;

const SUITES = [
  "./test/citus/nodes_citus.ts",
  "./test/citus/isolation_citus.ts",
  "./test/citus/rejections_citus.ts",
  "./test/citus/routes_citus.ts",
  "./test/citus/move_citus.ts",
  "./test/citus/new_node_citus.ts",
  "./test/citus/convert_citus.ts",
  "./test/citus/failure_citus.ts",
  "./test/citus/passwords_citus.ts",
  "./test/citus/upgrade_citus.ts",
  "test/cli/admin_archive_test.ts",
  "test/service/isolation_guard_test.ts",
  ...["test/data", "test/tables", "test/gateway", "test/records"].flatMap(listTests),
];

/** The tests of a folder, except those that are left out. */
function listTests(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith("_test.ts") && !PLAIN.test(name))
    .map((name) => `${folder}/${name}`)
    .filter((path) => !BY_HAND.test(readFileSync(path, "utf8")));
}

const source = process.env["CITUS_SOURCE"];
const bin = source ? buildCitus(source) : undefined;
if (bin !== undefined) process.env[CITUS_BIN] = bin;
const started = citusUrl() === undefined && bin !== undefined ? await startCitus(bin) : undefined;
const url = citusUrl() ?? started?.url;
if (url === undefined) {
  console.error(
    `No test was run. Set CITUS_SOURCE to a folder with the sources of Citus, which needs PostgreSQL's server headers, or set
CITUS_ADMIN_URL to a superuser at the coordinator of a cluster, in a database that has the extension and every node registered
(docs/scaling.md), such as postgres://postgres@127.0.0.1:9700/postgres`,
  );
  process.exit(1);
}
process.env["CITUS_ADMIN_URL"] = url;
const template = await makeDatabase({ admin: url, serving: url, prepare: true });
await closeDatabase(url, template.name, withRoot);
const named = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "rowhouse-citus-"));
const report = join(folder, "report.xml");
const run = Bun.spawn(
  [
    ...[process.execPath, "test", "--timeout", "300000", "--max-concurrency", "1"],
    ...["--reporter=junit", `--reporter-outfile=${report}`],
    ...(named.length > 0 ? named : SUITES),
  ],
  {
    stdio: ["ignore", "inherit", "inherit"],
    env: {
      ...process.env,
      ADMIN_DATABASE_URL: url,
      DATABASE_URL: "",
      [TEST_TEMPLATE]: template.name,
    },
  },
);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => run.kill(signal));
const exitCode = await run.exited;
await template.drop();
await started?.stop();
const { passed, failed, skipped } = await readReport(report, exitCode);
for (const name of await readSkipped(report)) console.log(`skipped: ${name}`);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
rmSync(folder, { recursive: true, force: true });
process.exit(failed === 0 ? 0 : 1);
