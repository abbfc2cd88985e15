/** Parses arguments and checks them against a command's flags. The first error is a usage error. @module */
import { parseArgs } from "node:util";
import { findNearest } from "../../std/find_nearest.ts";
import { quote } from "../../std/quote.ts";
import { type Arguments, type Command, type Flag, type Flags, UsageError } from "./command.ts";

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
  checkCounts(command, values, positionals);
  checkOrder(command, positionals);
  const texts = (flag: string) => values.get(flag) ?? [];
  return {
    positionals,
    has: (flag) => values.has(flag),
    text: (flag) => texts(flag).at(-1),
    texts,
  };
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
  positionals: readonly string[],
): void {
  for (const [name, given] of values) {
    if (given.length > 1 && command.flags[name]?.many !== true)
      throw new UsageError(`Flag --${name} is given ${given.length} times: expected once`);
  }
  const replacesArguments = [...values.keys()].some(
    (name) => command.flags[name]?.replacesArguments === true,
  );
  const wanted = replacesArguments ? [] : command.positionals;
  if (positionals.length < wanted.length)
    throw new UsageError(
      `Missing <${wanted.slice(positionals.length).join("> <")}> after rowhouse ${command.name}`,
    );
  const extra = positionals[wanted.length];
  if (extra !== undefined)
    throw new UsageError(`Unexpected argument ${quote(extra)} after rowhouse ${command.name}`);
}

/** Only an address contains an @, so its position shows whether the order is wrong. */
function checkOrder(command: Command, positionals: readonly string[]): void {
  const index = command.positionals.indexOf("email");
  const typed = positionals[index];
  if (typed === undefined || /[@＠]/.test(typed)) return;
  if (!positionals.some((text) => /[@＠]/.test(text))) return;
  const order = command.positionals.map((name) => `<${name}>`).join(" ");
  throw new UsageError(`Wrong order of arguments: expected rowhouse ${command.name} ${order}`);
}
