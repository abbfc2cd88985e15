/** JSON documents of commands, compared with the types in the command's help. @module */
import type { Command } from "../../src/cli/command.ts";

/** The type of the JSON document that a command prints, as its help has it; `undefined` if the help has none for these flags. */
export function findShape(
  { about = "", isForSeveral }: Pick<Command, "about" | "isForSeveral">,
  argv: readonly string[],
): string | undefined {
  const [, other] = /With (--[\w-]+): \{/.exec(about) ?? [];
  if (other !== undefined && argv.includes(other)) return undefined;
  const hasSeveral = isForSeveral === true && argv.filter((text) => text.includes("@")).length > 1;
  const printed = /^Prints with --json( then)?: (\{[\s\S]*?\})(?:\n\n|$)/gm;
  const [, , shape] =
    [...about.matchAll(printed)].find(([, then]) => (then !== undefined) === hasSeveral) ?? [];
  return shape?.replaceAll(/\s+/g, " ");
}

/** The paths of values that do not fit the type. */
export function findMisfits(shape: string, document: unknown): string[] {
  const tokens = shape.match(/"[^"]*"|\w+|[{}[\](),:|]/g) ?? [];
  const fits = readUnion(tokens);
  if (tokens.length > 0) throw new Error(`Cannot read the type from: ${tokens.join(" ")}`);
  return fits(document, "");
}

type Fits = (value: unknown, path: string) => string[];

function readUnion(tokens: string[]): Fits {
  const parts = [readItem(tokens)];
  while (tokens[0] === "|") {
    tokens.shift();
    parts.push(readItem(tokens));
  }
  return (value, path) => {
    const misfits = parts.map((fits) => fits(value, path));
    return misfits.some(({ length }) => length === 0) ? [] : misfits.flat();
  };
}

function readItem(tokens: string[]): Fits {
  let fits = readBase(tokens);
  while (tokens[0] === "[" && tokens[1] === "]") {
    tokens.splice(0, 2);
    fits = toArray(fits);
  }
  return fits;
}

function readBase(tokens: string[]): Fits {
  const token = tokens.shift() ?? "";
  if (token === "{") return readObject(tokens);
  if (token === "[" || token === "(") {
    const inner = readUnion(tokens);
    tokens.shift();
    return token === "[" ? toArray(inner) : inner;
  }
  if (token.startsWith('"')) return (value, path) => toMisfit(value === token.slice(1, -1), path);
  if (token === "null") return (value, path) => toMisfit(value === null, path);
  return (value, path) => toMisfit(typeof value === token && value !== null, path);
}

function readObject(tokens: string[]): Fits {
  const fields = new Map<string, Fits>();
  while (tokens[0] !== "}") {
    const [name = ""] = tokens.splice(0, 2);
    fields.set(name.replaceAll('"', ""), readUnion(tokens));
    if (tokens[0] === ",") tokens.shift();
  }
  tokens.shift();
  return (value, path) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [path];
    const found = new Map(Object.entries(value));
    const unknown = [...found.keys()].filter((name) => !fields.has(name));
    return [
      ...unknown.map((name) => `${path}/${name}`),
      ...[...fields].flatMap(([name, fits]) => fits(found.get(name), `${path}/${name}`)),
    ];
  };
}

function toArray(fits: Fits): Fits {
  return (value, path) =>
    Array.isArray(value) ? value.flatMap((item, index) => fits(item, `${path}/${index}`)) : [path];
}

function toMisfit(fits: boolean, path: string): string[] {
  return fits ? [] : [path];
}
