/** The types of commands: a row of the table in commands.ts, and the module that runs it and describes its help. @module */

import { parseArgs } from "node:util";
import type { Detail } from "../problem.ts";
import type { Environment } from "../settings/mod.ts";
import { findNearest } from "../std/names.ts";
import { quote } from "../std/quote.ts";

/** Exit codes. */
export const EXIT = {
  done: 0,
  rejected: 1,
  usage: 2,
  pending: 3,
  unauthenticated: 4,
  unreachable: 69,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A flag. `value` is the placeholder of its value in the help; a flag without it accepts no value. */
export type Flag = {
  readonly value?: string;
  readonly many?: true;
  /** The value of a flag that is not given, which the help names. */
  readonly default?: string;
  /** The positional arguments that the flag replaces. */
  readonly replaces?: readonly string[];
  readonly about: string;
};
/** The flag of commands with machine-readable output. */
export const JSON_FLAG: Flag = { about: "one JSON document on standard output" };
/** The flag of commands that list records. */
export const CSV_FLAG: Flag = { about: "CSV on standard output, for spreadsheets" };
/** The flag of commands that evaluate a schema. */
export const SCHEMA_FLAG = {
  value: "path",
  about: "the schema file, or a folder with mod.ts",
  default: "schema/",
} as const satisfies Flag;
export type Flags = Readonly<Record<string, Flag>>;

/** The checked arguments after the command's name. */
export type Arguments = {
  readonly positionals: readonly string[];
  readonly has: (flag: string) => boolean;
  /** The text of a flag, which is never empty; without the flag its default. */
  readonly text: (flag: string) => string | undefined;
  readonly texts: (flag: string) => readonly string[];
};

/** The context of a command. */
export type Setting = {
  readonly args: Arguments;
  readonly env: Environment;
  /** The project's folder. */
  readonly folder: string;
  readonly terminal: Terminal;
};

export type Terminal = {
  /** Writes a result line to standard output, without control characters. */
  readonly print: (line: string) => void;
  /** Writes the text of a file to standard output, unchanged unless standard output is a terminal. */
  readonly printData: (text: string) => void;
  /** Writes an error or notice to standard error, without control characters. */
  readonly warn: (line: string) => void;
  /** Shows progress on a terminal until the returned function is called. */
  readonly spin: (label: string | (() => string)) => () => void;
  /** The line that the person types, empty at the end of input; `undefined` without a terminal. */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** Whether input and output are a terminal. */
  readonly canAsk: boolean;
  /** Waits until everything is written. Returns the code of the error if the last line of the result could not be written. */
  readonly flush: () => Promise<string | undefined>;
};

/** The result of a command: a document for `--json`, a file for `--csv`, lines for people, and notices for standard error. */
export type CommandResult = {
  readonly document?: unknown;
  readonly file?: string;
  readonly lines: readonly string[];
  readonly notes?: readonly string[];
  /** Defaults to {@linkcode EXIT}.done. */
  readonly exitCode?: ExitCode;
};

export type Command = {
  /** As typed: `migrate`, `admin create-app`. */
  readonly name: string;
  /** The line in overviews, of commands whose summaries are generated. */
  readonly summary?: string;
  /** Example lines to paste. */
  readonly example: string;
  /** Details beyond the summary. */
  readonly about?: string;
  readonly positionals: readonly string[];
  /** Whether the first argument, an address, can be several addresses: they are the texts of `email`. */
  readonly isForSeveral?: true | undefined;
  readonly flags: Flags;
  /** Returns what to print, or only the exit code if it has printed. */
  readonly run: (setting: Setting) => Promise<CommandResult | ExitCode>;
};

/** A row of the table of commands, as an overview shows it. */
export type CommandRow = Pick<Command, "name"> & {
  readonly summary: string;
  readonly load: () => Promise<Command>;
};

/** The command line is invalid. The message names what is expected. */
export class UsageError extends Error {}

/** For scripts: a stable code, and all errors with their paths. */
type Report = { code?: string; details?: readonly Detail[] };

/** A command fails. The message names the next step. */
export class RejectedError extends Error {
  readonly exitCode: ExitCode;
  readonly report: Report;
  constructor(message: string, exitCode: ExitCode = EXIT.rejected, report: Report = {}) {
    super(message);
    this.exitCode = exitCode;
    this.report = report;
  }
}

// Parses arguments and checks them against a command's flags. The first error is a usage error.

/** @throws {UsageError} unknown flag, missing value, or wrong number of arguments */
export function readArguments(command: Command, argv: readonly string[]): Arguments {
  const options = Object.fromEntries(
    Object.entries(command.flags).map(([name, flag]) => [
      name,
      { type: flag.value === undefined ? "boolean" : "string", multiple: true } as const,
    ]),
  );
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true });
  const values = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const flag = findFlag(command, token.rawName);
    const value = checkValue(token.rawName, flag, token.value);
    values.set(token.name, [...(values.get(token.name) ?? []), value]);
  }
  const given = [...values.keys()];
  const replaced = given.flatMap((name) => command.flags[name]?.replaces ?? []);
  const wanted = command.positionals.filter((name) => !replaced.includes(name));
  const emails = takeEmails(command, given, positionals);
  if (emails.length > 0) values.set("email", emails);
  const terms = [...emails.slice(0, 1), ...positionals.slice(emails.length)];
  checkCounts(command, values, { wanted, terms });
  const next = terms.values();
  const arranged = command.positionals.map((name) =>
    wanted.includes(name) ? (next.next().value ?? "") : "",
  );
  checkOrder(command, arranged);
  const texts = (flag: string) => values.get(flag) ?? [];
  return {
    positionals: arranged,
    has: (flag) => values.has(flag),
    text: (flag) => texts(flag).at(-1) ?? command.flags[flag]?.default,
    texts,
  };
}

const ADDRESS = /[@＠]/;

/** The addresses at the start of the arguments, of a command for several people. */
function takeEmails(
  { isForSeveral, flags }: Command,
  given: readonly string[],
  positionals: readonly string[],
): string[] {
  if (isForSeveral !== true) return [];
  const other = given.find((name) => flags[name]?.replaces?.includes("email"));
  if (other === undefined) {
    const end = positionals.findIndex((text) => !ADDRESS.test(text));
    return positionals.slice(0, end === -1 ? positionals.length : Math.max(end, 1));
  }
  const address = positionals.find((text) => ADDRESS.test(text));
  if (address === undefined) return [];
  throw new UsageError(`Use either addresses such as ${quote(address)}, or --${other}`);
}

function findFlag(command: Command, typed: string): Flag {
  const name = typed.replace(/^--/, "");
  const flag = Object.hasOwn(command.flags, name) ? command.flags[name] : undefined;
  if (flag !== undefined && typed.startsWith("--")) return flag;
  const near = findNearest(name, Object.keys(command.flags));
  const message =
    near === undefined ? `expected ${listFlags(command.flags)}` : `did you mean --${near}?`;
  throw new UsageError(`Unknown flag ${quote(typed)} for rowhouse ${command.name}: ${message}`);
}

function listFlags(flags: Flags): string {
  const names = Object.entries(flags).map(([name, flag]) => showFlag(name, flag));
  return names.length === 0 ? "no flags" : names.join(", ");
}

/** A flag as it is typed. */
export function showFlag(name: string, flag: Flag): string {
  return flag.value === undefined ? `--${name}` : `--${name} <${flag.value}>`;
}

function checkValue(typed: string, flag: Flag, value: string | undefined): string {
  if (flag.value === undefined && value !== undefined)
    throw new UsageError(`Flag ${typed} does not accept a value`);
  // An empty value is usually an unset shell variable: it must not become a default.
  if (flag.value !== undefined && (!value || value.startsWith("--")))
    throw new UsageError(`Flag ${typed} needs a value: ${typed} <${flag.value}>`);
  return value ?? "";
}

function checkCounts(
  command: Command,
  values: ReadonlyMap<string, readonly string[]>,
  { wanted, terms }: { wanted: readonly string[]; terms: readonly string[] },
): void {
  for (const [name, given] of values) {
    if (given.length > 1 && command.flags[name] !== undefined && command.flags[name].many !== true)
      throw new UsageError(`Flag --${name} is given ${given.length} times: expected once`);
  }
  if (terms.length < wanted.length)
    throw new UsageError(
      `Missing <${wanted.slice(terms.length).join("> <")}> after rowhouse ${command.name}`,
    );
  const extra = terms[wanted.length];
  if (extra !== undefined)
    throw new UsageError(`Unexpected argument ${quote(extra)} after rowhouse ${command.name}`);
}

/** Only an address contains an @, so its position shows whether the order is wrong. */
function checkOrder(command: Command, positionals: readonly string[]): void {
  const index = command.positionals.indexOf("email");
  const typed = positionals[index];
  if (typed === undefined || ADDRESS.test(typed)) return;
  if (!positionals.some((text) => ADDRESS.test(text))) return;
  const order = command.positionals.map((name) => `<${name}>`).join(" ");
  throw new UsageError(`Wrong order of arguments: expected rowhouse ${command.name} ${order}`);
}
