/** The defaults in the help are those of the code: a fixed default is only in the flag's `default`, which the command reads. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readArguments } from "../../src/cli/arguments.ts";
import type { Command, Flag } from "../../src/cli/command.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { describeCommand } from "../../src/cli/help.ts";
import { ROOT } from "../support/command.ts";

const commands: readonly Command[] = await Promise.all(COMMANDS.map((row) => row.load()));
const flags = commands.flatMap((command) =>
  Object.entries<Flag>(command.flags).map(([name, flag]) => ({
    title: `${command.name} --${name}`,
    ...{ command, name, flag },
  })),
);

/** Defaults that depend on the environment or the project; their text says on what. */
const DERIVED = [
  ...["dev --port", "dev --app", "dev --preview", "serve --role", "migrate --shards"],
  ...["admin set-history --days", "data import --format", "data import --dates"],
  ...["data import --encoding", "data import --spreadsheet", "admin set-limit --per-minute"],
  ...["admin set-limit --per-key"],
];

const fixed = flags.filter(({ flag }) => flag.default !== undefined);

test.each(fixed)("$title has its default in the help, and when it is not given", (row) => {
  const { command, name, flag } = row;
  const help = describeCommand({ ...command, flags: { [name]: flag } }, "");
  expect(help).toContain(`; default ${flag.default}`);
  expect(flag.value).toBeDefined();
  const unset = { ...command, positionals: [], isForSeveral: undefined };
  const args = readArguments(unset, []);
  expect([args.text(name), args.has(name)]).toEqual([flag.default, false]);
});

test("no other text of a flag states a fixed default", () => {
  const stating = flags
    .filter(({ flag }) => /default/i.test(flag.about))
    .map(({ title }) => title)
    .filter((title) => !/--(url|journal)$/.test(title));
  expect([...new Set(stating)].sort()).toEqual(DERIVED.toSorted());
  expect(fixed.length).toBeGreaterThan(20);
});

test("no command has a second default for a flag that has one", () => {
  const names = new Set(fixed.map(({ name }) => name));
  const files = [...new Bun.Glob("src/cli/**/*.ts").scanSync(ROOT)].filter(
    (file) => !file.endsWith("_test.ts"),
  );
  const second = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), "utf8");
    const found = text.matchAll(/\.text\("([\w-]+)"\) \?\? ("[^"]+"|\d+)/g);
    return [...found].filter(([, name = ""]) => names.has(name)).map(([all]) => `${file}: ${all}`);
  });
  expect(files.length).toBeGreaterThan(90);
  expect(second).toEqual([]);
});
