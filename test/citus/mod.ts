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
import { buildCitus, startCitus } from "./cluster.ts";

/** What a cluster rejects: previews, people's keys, and changes of tables other than new columns. */
const REJECTED = /previews|PREVIEWS|person_|openToBrowsers|schema:drop|dropTable|renameTable/;
/** Tests that make such changes or writes by other words, or read statements of one PostgreSQL. */
const PLAIN = ["change", "retype", "replay", "reader", "writes_fuzz"].map(
  (name) => `/${name}_test.ts`,
);

const SUITES = [
  "./test/citus/nodes_citus.ts",
  "./test/citus/isolation_citus.ts",
  "./test/citus/rejections_citus.ts",
  "./test/citus/move_citus.ts",
  "./test/citus/new_node_citus.ts",
  "./test/citus/convert_citus.ts",
  "./test/citus/failure_citus.ts",
  "./test/citus/passwords_citus.ts",
  "test/cli/admin_archive_test.ts",
  "test/service/isolation_guard_test.ts",
  ...["test/data", "test/tables", "test/gateway", "test/records"].flatMap(listTests),
];

/** The tests of a folder, except those of what a cluster rejects. */
function listTests(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith("_test.ts"))
    .map((name) => `${folder}/${name}`)
    .filter(
      (path) =>
        !PLAIN.some((name) => path.endsWith(name)) &&
        !REJECTED.test(path + readFileSync(path, "utf8")),
    );
}

const source = process.env["CITUS_SOURCE"];
const started =
  citusUrl() === undefined && source ? await startCitus(buildCitus(source)) : undefined;
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
