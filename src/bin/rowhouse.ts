#!/usr/bin/env bun
/** The command `rowhouse`: finds the subcommand, runs it, turns how it ended into an exit code. @module */
import { quote } from "../std/quote.ts";
import { adminCommands } from "./admin/mod.ts";
import { readArguments } from "./cli/arguments.ts";
import { type Command, EXIT, type ExitCode, UsageError } from "./cli/command.ts";
import { explain, toExitCode, toFailure } from "./cli/explain.ts";
import { describeCommand, overview } from "./cli/help.ts";
import { makePaint } from "./cli/paint.ts";
import { openTerminal, toDocument, toPrintable } from "./cli/terminal.ts";
import { dbCommands } from "./db/mod.ts";
import { devCommand } from "./dev/mod.ts";
import { doctorCommand } from "./doctor.ts";
import { healthCommand } from "./health.ts";
import { initCommand } from "./init.ts";
import { migrateCommand } from "./migrate.ts";
import { serveCommand } from "./serve/mod.ts";

/** Every command, in the order of the help. */
const COMMANDS: readonly Command[] = [
  devCommand,
  serveCommand,
  migrateCommand,
  initCommand,
  ...dbCommands,
  ...adminCommands,
  healthCommand,
  doctorCommand,
];

const terminal = openTerminal(process.env);
const exitCode = await main(process.argv.slice(2));
await terminal.flush();
process.exit(exitCode);

async function main(argv: readonly string[]): Promise<ExitCode> {
  try {
    return await runCommand(argv);
  } catch (error) {
    // Before the words are understood: a word that is not is a failure too.
    if (argv.includes("--json")) terminal.say(toDocument(toFailure(error)));
    const paint = makePaint(process.env, process.stderr.isTTY === true);
    terminal.warn(paint("red", toPrintable(explain(error))));
    return toExitCode(error);
  }
}

async function runCommand(argv: readonly string[]): Promise<ExitCode> {
  const wantsHelp = argv.some((word) => word === "--help" || word === "-h") || argv[0] === "help";
  const words = argv.filter((word) => !["--help", "-h", "help"].includes(word));
  const command = findCommand(wantsHelp ? words : argv);
  if (wantsHelp || argv.length === 0) {
    terminal.say(command === undefined ? describeGroup(words[0]) : describeCommand(command));
    return argv.length === 0 ? EXIT.usage : EXIT.done;
  }
  if (command === undefined) throw unknownCommand(argv);
  const args = readArguments(command, argv.slice(command.name.split(" ").length));
  return await command.run({ args, env: process.env, folder: process.cwd(), terminal });
}

/** The commands that begin with a word; all of them where none does. */
function describeGroup(word: string | undefined): string {
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${word} `));
  return group.length === 0 ? overview(COMMANDS) : overview(group, word);
}

function findCommand(argv: readonly string[]): Command | undefined {
  return COMMANDS.find(({ name }) => name.split(" ").every((word, index) => argv[index] === word));
}

/** Names the subcommands where the first word is one that has some. */
function unknownCommand(argv: readonly string[]): UsageError {
  const [first = ""] = argv;
  const siblings = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  const wanted = siblings.length > 0 ? siblings : COMMANDS;
  const typed = siblings.length > 0 ? argv.slice(0, 2).join(" ") : first;
  return new UsageError(
    `Unknown command ${quote(typed)}: wanted one of ${wanted.map(({ name }) => name).join(", ")}`,
  );
}
