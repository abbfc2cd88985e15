/** The counts and failures of real runs of bun. */
import { expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readFailures, readReport, readSkipped } from "./report.ts";

const FAILING = `
  import { beforeAll, describe, expect, test } from "bun:test";
  describe("a group", () => {
    test("passes", () => {});
    test.skip("is skipped & reported", () => {});
    test("expects <1>", () => expect({ a: 1 }).toEqual({ a: 2 }));
    test("times out", () => Bun.sleep(5000), 10);
  });
  describe("unprepared", () => {
    beforeAll(() => { throw new Error('no "server"'); });
    test("is not begun", () => {});
  });
`;

test("a report has the counts, the failures with location and message, and the skipped tests", async () => {
  await using run = await runTests(FAILING);
  expect(run.exitCode).not.toBe(0);
  expect(await readReport(run.report, run.exitCode)).toEqual({ passed: 1, failed: 3, skipped: 1 });
  expect(await readSkipped(run.report)).toEqual(["is skipped & reported"]);
  expect(await readFailures(run.report)).toEqual([
    expect.stringMatching(/trial\.test\.ts > a group > expects <1>\n.*\n\n {2}\{\n- {3}"a": 2,/),
    expect.stringMatching(/trial\.test\.ts > a group > times out\ntest timed out/),
    expect.stringMatching(/trial\.test\.ts > .*\nno "server"/),
  ]);
});

test("a crash outside the tests counts as one failure without a location", async () => {
  await using run = await runTests(`
    import { test } from "bun:test";
    test("passes", () => { setTimeout(() => process.exit(3), 0); return Bun.sleep(20); });
  `);
  expect(await readReport(run.report, run.exitCode)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  expect(await readFailures(run.report)).toEqual([]);
});

test("a successful run has no failures", async () => {
  await using run = await runTests(`
    import { test } from "bun:test";
    test("passes", () => {});
  `);
  expect(await readReport(run.report, run.exitCode)).toEqual({ passed: 1, failed: 0, skipped: 0 });
  expect(await readFailures(run.report)).toEqual([]);
});

async function runTests(text: string) {
  const folder = await mkdtemp(join(tmpdir(), "rowhouse-report-"));
  await writeFile(join(folder, "trial.test.ts"), text);
  const report = join(folder, "report.xml");
  const child = Bun.spawn(
    [process.execPath, "test", "--reporter=junit", `--reporter-outfile=${report}`],
    { cwd: folder, stdio: ["ignore", "ignore", "ignore"] },
  );
  return {
    report,
    exitCode: await child.exited,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}
