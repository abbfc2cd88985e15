/** security/advisories.md lists each advisory once, with an existing test. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/command.ts";

const PROJECTS = ["Auth.js", "Authelia", "Better Auth", "OAuth2 Proxy"];
const ID = /^(CVE-202\d-\d{4,6}|GHSA(-[2-9cfghjmpqrvwx]{4}){3})$/;

const rows = readFileSync(join(ROOT, "test/system/security/advisories.md"), "utf8")
  .split("\n")
  .filter((line) => /^\| (CVE|GHSA)-/.test(line))
  .map((line) => line.slice(2, -2).split(" | "));

/** Returns the test's location if the file has no test with this title. */
function findMissing([, file = "", title = ""]: RegExpMatchArray): string[] {
  const path = ["test", "src"].map((folder) => join(ROOT, folder, file)).find(existsSync);
  const text = path === undefined ? "" : readFileSync(path, "utf8");
  const name = RegExp.escape(title);
  // A test of its own, the first cell of a line of `cases()`, or a key of the object of `test.each()`.
  const isThere = new RegExp(
    String.raw`(?:test\(|\)\(|describe\(|name: )\s*"${name}"|^\s*${name}\s+\||^\s*"${name}":`,
    "m",
  ).test(text);
  return isThere ? [] : [`${file}: ${title}`];
}

test("each advisory has its id, its project and an existing test", () => {
  expect(rows.length).toBeGreaterThan(25);
  for (const [ids = "", project = "", wrong = "", here = "", proofs = ""] of rows) {
    expect(ids.split(", ").filter((id) => !ID.test(id))).toEqual([]);
    expect(PROJECTS).toContain(project);
    expect([wrong, here].map((text) => text.length > 5)).toEqual([true, true]);
    const tests = [...proofs.matchAll(/`([\w/]+_test\.ts)`: “([^”]+)”/g)];
    expect([ids, tests.length > 0, tests.flatMap(findMissing)]).toEqual([ids, true, []]);
  }
});

test("each advisory is listed once, and its project exists", () => {
  const ids = rows.flatMap(([text = ""]) => text.split(", "));
  expect(ids.length).toBe(new Set(ids).size);
  expect([...new Set(rows.map(([, project]) => project))].sort()).toEqual(PROJECTS);
});
