/** Parses arguments and checks them against a command's flags. The first error is a usage error. @module */
import { parseArgs } from "node:util";
import { findNearest } from "../std/names.ts";
import { quote } from "../std/quote.ts";
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
