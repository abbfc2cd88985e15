/** Text from the database and from files reaches a terminal without control characters. */
import { afterAll, expect, test } from "bun:test";
import { makePaint } from "../../src/cli/paint.ts";
import { toTerminalText } from "../../src/cli/terminal.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeProject, runCommand } from "../support/command.ts";
import { openTestService, UNGUARDED } from "../support/service.ts";

/** A control character other than a line end or tab, or an invisible character that changes the order of text. */
const UNSEEN = /[^\P{Cc}\n\t]|\p{Cf}/u;

let project: { folder: string; remove: () => void };
const service = await openTestService({ service: UNGUARDED });
project = makeProject();
afterAll(async () => {
  await service.close();
  project.remove();
});

test("rowhouse doctor prints a planted name on its own line, without control characters", async () => {
  await service.makeApp(defineSchema({ todos: { title: t.string() } }));
  await service.pushing.message(`
    create function data."evil\u001b[2J\u009b1m\nok   isolation: "() returns int language sql as 'select 1'; select 1`);
  const env = { DATABASE_URL: service.database.servingUrl };
  const { code, out } = await runCommand(["doctor"], { ...project, env });
  expect(code).toBe(1);
  expect(out).toContain("FAIL isolation: function data.");
  expect(out).toMatch(/evil\uFFFD\[2J\uFFFD1m\uFFFDok {3}isolation/);
  expect(out).not.toMatch(UNSEEN);
  expect(out).not.toMatch(/^ok +isolation/m);
  const json = await runCommand(["doctor", "--json"], { ...project, env });
  expect(json.out).not.toMatch(UNSEEN);
  expect(JSON.stringify(JSON.parse(json.out))).toContain("\u009b1m");
});

test("toTerminalText() keeps lines, tabs and colors", () => {
  const paint = makePaint({}, true);
  const kept = `${paint("red", "a")}\n[31m\tb`;
  expect(toTerminalText(kept)).toBe(kept);
  expect(toTerminalText("\u001b[8m\u001b]0;x\u0007\r\u202e")).toBe(
    "\uFFFD[8m\uFFFD]0;x\uFFFD\uFFFD\uFFFD",
  );
});
