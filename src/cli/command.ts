/** The types of commands: a row of the table in commands.ts, and the module that runs it and describes its help. @module */

import type { Detail } from "../problem.ts";
import type { Environment } from "../settings/mod.ts";

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
  /** The line that the person types, empty at the end of input; `undefined` without a terminal, or once the signal is aborted. */
  readonly ask: (question: string, signal?: AbortSignal) => Promise<string | undefined>;
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
