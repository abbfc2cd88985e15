/**
 * A command from its declaration: arguments, flags and JSON document, each with a type. Parsing, help and the help of `--json`
 * follow from them.
 *
 * @module
 */
import { type Columns, type Row, record } from "../../accounts/actions/mod.ts";
import { type Field, type Input, readInput } from "../../field.ts";
import { Problem } from "../../problem.ts";
import { type Arguments, type CommandResult, type Flag, UsageError } from "../cli/command.ts";
import { describeJson } from "./list_command.ts";
import type { AdminDeps, AdminRow } from "./task.ts";

/** The reader of each argument, by its name in the help. */
type Readers = Readonly<Record<string, (text: string) => unknown>>;
/** A flag is described by an input of the action, or by its own text. */
type FlagFields = Readonly<Record<string, Field | Flag>>;
type FlagValue<Of> =
  Of extends Input<infer Value>
    ? Value | undefined
    : Of extends { many: true }
      ? readonly string[]
      : Of extends Field | { value: string }
        ? string | undefined
        : boolean;
type Values<Args extends Readers, Flags extends FlagFields> = {
  readonly [Name in keyof Args]: ReturnType<Args[Name]>;
} & { readonly [Name in keyof Flags]: FlagValue<Flags[Name]> };

type Declared<Args extends Readers, Flags extends FlagFields, Json extends Columns> = {
  example: string;
  about?: string;
  args?: Args;
  flags?: Flags;
  /** Unset for a document that is not one record of these columns; `about` describes it. */
  json?: Json;
  run: (
    deps: AdminDeps,
    values: Values<Args, Flags>,
  ) => Promise<CommandResult & { document: Row<Json> }>;
};

export function command<
  Args extends Readers = Record<never, never>,
  const Flags extends FlagFields = Record<never, never>,
  Json extends Columns = Columns,
>(summary: string, declared: Declared<Args, Flags, Json>): AdminRow {
  const { example, about = "", args, flags, json, run } = declared;
  const fields = Object.entries<Field | Flag>(flags ?? {});
  return {
    summary,
    example,
    about: json === undefined ? about : describeJson(record(json), about),
    positionals: Object.keys(args ?? {}),
    flags: Object.fromEntries(fields.map(([name, of]) => [name, toFlag(of)])),
    task: async (deps, given) => {
      const values = [
        ...Object.entries<Readers[string]>(args ?? {}).map(([name, read], position) => [
          name,
          read(given.positionals[position] ?? ""),
        ]),
        ...fields.map(([name, of]) => [name, readFlag(given, name, of)]),
      ];
      // The compiler does not connect the names of the entries with their types.
      return await run(deps, Object.fromEntries(values) as Values<Args, Flags>);
    },
  };
}

/** An argument that the action reads itself. */
export function typed(text: string): string {
  return text;
}

function toFlag(of: Field | Flag): Flag {
  if ("about" in of) return of;
  const { label, hint, placeholder, choices } = of;
  const values = choices === undefined ? hint : `one of ${Object.keys(choices).join(", ")}`;
  return { value: placeholder, about: [label, values].filter(Boolean).join(": ") };
}

/** @throws {UsageError} the value is invalid */
function readFlag(args: Arguments, name: string, of: Field | Flag | Input<unknown>): unknown {
  if ("many" in of) return args.texts(name);
  if ("about" in of && of.value === undefined) return args.has(name);
  const text = args.text(name);
  if (text === undefined || !("read" in of)) return text;
  try {
    return readInput(of, `--${name}`, text);
  } catch (error) {
    throw error instanceof Problem ? new UsageError(error.message) : error;
  }
}
