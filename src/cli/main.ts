/**
 * The command `rowhouse`: finds the subcommand, runs it, and turns the outcome into an exit code. Never ends the process.
 *
 * @module
 */
import type { Environment } from "../settings/mod.ts";
import { findNearest } from "../std/names.ts";
import { quote } from "../std/quote.ts";
import { VERSION } from "../std/version.ts";
import { readArguments } from "./arguments.ts";
import { type CommandRow, EXIT, type ExitCode, type Setting, UsageError } from "./command.ts";
import { COMMANDS, EXAMPLES } from "./commands.ts";
import { explain, toExitCode, toFailure } from "./failures.ts";
import { describeCommand, overview } from "./help.ts";
import { makePaint } from "./paint.ts";
import { toDocument } from "./terminal.ts";

type BaseSetting = Omit<Setting, "args">;

/** Runs the command that the arguments name. */
export async function main(argv: readonly string[], base: BaseSetting): Promise<ExitCode> {
  const { env, terminal } = base;
  try {
    return await runCommand(argv, base);
  } catch (error) {
    // Read from argv, because parsing the arguments can be what failed.
    if (argv.includes("--json")) terminal.print(toDocument(toFailure(error)));
    const paint = makePaint(env, process.stderr.isTTY === true);
    const name = findCommand(argv)?.name ?? (findGroup(argv[0]).length > 0 ? argv[0] : undefined);
    terminal.warn(paint("red", explain(error, name)));
    return toExitCode(error);
  }
}

async function runCommand(argv: readonly string[], base: BaseSetting): Promise<ExitCode> {
  const { terminal } = base;
  if (["--version", "-v", "version"].includes(argv[0] ?? "")) {
    await printVersion(base, argv.includes("--json"));
    return EXIT.done;
  }
  const isHelpArgument =
    argv[0] === "help" || (argv[1] === "help" && findGroup(argv[0]).length > 0);
  const wantsHelp = isHelpArgument || argv.some((term) => term === "--help" || term === "-h");
  const terms = argv.filter((term) => !["--help", "-h", "help"].includes(term));
  const row = findCommand(wantsHelp ? terms : argv);
  if (wantsHelp || isBare(argv)) {
    // A word after an option can be its value.
    const option = terms.findIndex((term) => term.startsWith("-"));
    const named = option === -1 ? terms : terms.slice(0, option);
    if (row === undefined && named.length > 0 && !isBare(named)) throw unknownCommand(named);
    terminal.print(
      row === undefined ? describeGroup(terms[0]) : describeCommand(await row.load(), row.summary),
    );
    return wantsHelp ? EXIT.done : EXIT.usage;
  }
  if (row === undefined) throw unknownCommand(argv);
  const command = await row.load();
  const args = readArguments(command, argv.slice(command.name.split(" ").length));
  const result = await command.run({ args, ...base, env: await withSecrets(base.env) });
  if (typeof result === "number") return result;
  const { document, file, lines, notes = [], exitCode = EXIT.done } = result;
  if (args.has("json")) terminal.print(toDocument(document));
  else {
    if (args.has("csv") && file !== undefined) terminal.printData(file);
    else for (const line of lines) terminal.print(line);
    for (const notice of notes) terminal.warn(notice);
  }
  return exitCode;
}

/** Without Bun the command only talks to a service, and has no tables. */
async function printVersion({ terminal }: BaseSetting, isJson: boolean): Promise<void> {
  const { RELEASE, RELEASE_TEXT } =
    process.versions.bun === undefined
      ? { RELEASE: { version: VERSION }, RELEASE_TEXT: VERSION }
      : await import("../db/mod.ts");
  terminal.print(isJson ? toDocument(RELEASE) : RELEASE_TEXT);
}

/**
 * The environment with the secrets that files contain. A variable whose file cannot be used stays, and the command reports it
 * where it reads its settings.
 */
async function withSecrets(env: Environment): Promise<Environment> {
  if (!Object.keys(env).some((name) => name.endsWith("_FILE"))) return env;
  const { readSecretFiles } = await import("../settings/mod.ts");
  const read = readSecretFiles(env);
  return { ...read.env, ...read.rejected };
}

/** Whether the arguments are empty, or only the first word of a two-word command. */
function isBare(argv: readonly string[]): boolean {
  return argv.length === 0 || (argv.length === 1 && findGroup(argv[0]).length > 0);
}

/** The overview of the commands that begin with a word, or of all commands if no name begins with it. */
function describeGroup(term = ""): string {
  const group = findGroup(term);
  const name = group.length === 0 ? "" : term;
  return overview(group.length === 0 ? COMMANDS : group, name, EXAMPLES[name] ?? "");
}

function findGroup(term: string | undefined): CommandRow[] {
  return COMMANDS.filter(({ name }) => name.startsWith(`${term} `));
}

function findCommand(argv: readonly string[]): CommandRow | undefined {
  return COMMANDS.find(({ name }) => name.split(" ").every((term, index) => argv[index] === term));
}

/** Suggests the nearest command or option of the program; otherwise lists the commands of the group, or all first words. */
function unknownCommand(argv: readonly string[]): UsageError {
  const [first = ""] = argv;
  const group = findGroup(first);
  const typed = group.length > 0 ? argv.slice(0, 2).join(" ") : first;
  const names = (group.length > 0 ? group : COMMANDS).map(({ name }) => name);
  const firsts = [...new Set(names.map((name) => name.split(" ")[0] ?? ""))];
  const terms = new Map(names.map((name) => [name, name]));
  if (group.length === 0) {
    // "push" is found as "db push".
    for (const name of names) terms.set(name.split(" ")[1] ?? name, name);
    for (const name of [...firsts, "--help", "--version"]) terms.set(name, name);
  }
  const near =
    findNearest(argv.slice(0, 2).join(" "), names) ?? findNearest(typed, [...terms.keys()]) ?? "";
  const expected = group.length > 0 ? names : firsts;
  const message = terms.has(near)
    ? `did you mean rowhouse ${terms.get(near)}?`
    : `expected one of ${expected.join(", ")}`;
  return new UsageError(`Unknown command ${quote(typed)}: ${message}`);
}
