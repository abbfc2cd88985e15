/** What a command is: a row of the table in commands.ts, and a module with the rest, from which its help is made. @module */
import type { Environment } from "../../config/mod.ts";
import type { Detail } from "../../problem.ts";

/** How a command ends. */
export const EXIT = {
  done: 0,
  refused: 1,
  usage: 2,
  pending: 3,
  unauthenticated: 4,
  unreachable: 69,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A flag; one with `value` takes a text, which the help shows as that word. */
export type Flag = {
  readonly value?: string;
  readonly many?: true;
  /** It stands in place of the words after the command's name. */
  readonly isInPlace?: true;
  readonly about: string;
};
/** The flag of every command that can answer a program. */
export const JSON_FLAG: Flag = { about: "one JSON document on standard output" };
export type Flags = Readonly<Record<string, Flag>>;

/** What was typed after the command's name, checked against its flags. */
export type Arguments = {
  readonly positionals: readonly string[];
  readonly has: (flag: string) => boolean;
  /** The text of a flag, which is never empty. */
  readonly text: (flag: string) => string | undefined;
  readonly texts: (flag: string) => readonly string[];
};

/** Where a command runs: what it may read and print. */
export type Setting = {
  readonly args: Arguments;
  readonly env: Environment;
  /** The project's folder. */
  readonly folder: string;
  readonly terminal: Terminal;
};

export type Terminal = {
  /** A line on standard output: what was asked for. */
  readonly say: (line: string) => void;
  /** A line on standard error: errors and notes. */
  readonly warn: (line: string) => void;
  /** Shows progress on a terminal until the returned function is called; elsewhere nothing. */
  readonly spin: (label: string | (() => string)) => () => void;
  /** The line that the person at the terminal types, empty at the end of input; `undefined` if no one can be asked. */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** Whether there is a person who can be asked. */
  readonly canAsk: boolean;
  /** Waits until everything is written. */
  readonly flush: () => Promise<void>;
};

export type Command = {
  /** As typed: `migrate`, `admin create-app`. */
  readonly name: string;
  /** Lines to paste. */
  readonly example: string;
  /** What the row's summary does not say. */
  readonly about?: string;
  readonly positionals: readonly string[];
  readonly flags: Flags;
  readonly run: (setting: Setting) => Promise<ExitCode>;
};

/** A row of the table of commands: what an overview shows. */
export type CommandRow = Pick<Command, "name"> & {
  readonly summary: string;
  readonly load: () => Promise<Command>;
};

/** A command was typed wrongly: the message says what is expected. */
export class UsageError extends Error {}

/** What scripts get besides the message: a stable code, and every fault with its place. */
export type Told = { code?: string; details?: readonly Detail[] };

/** A command cannot do what was asked: the message says what to do. */
export class RefusedError extends Error {
  readonly exitCode: ExitCode;
  readonly told: Told;
  constructor(message: string, exitCode: ExitCode = EXIT.refused, told: Told = {}) {
    super(message);
    this.exitCode = exitCode;
    this.told = told;
  }
}
