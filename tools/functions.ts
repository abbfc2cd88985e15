/** The shapes of the service's SQL functions, read from a migrated database, and the text of `db/functions.ts` from them. @module */
import { join } from "node:path";
import { CONSOLE_ACTIONS, type Database, type FunctionShape, readValue } from "../src/db/mod.ts";

/** The types that `call()` can pass and read. */
const NAMES = "bool|bytea|float8|int2|int4|int8|json|jsonb|text|timestamptz|uuid|visitor";
const TYPE = new RegExp(`^(${NAMES})(\\[\\])?$`);

/** A proof that `defineVisitorFunctions()` writes. */
const NEEDS_RECENT_SIGN_IN = /rowhouse\.check_console\([^;]*, true\);/;

type Part = { name: string; isPassed: boolean; type: string };
type Row = {
  name: string;
  isVolatile: boolean;
  isSet: boolean;
  returned: string;
  parts: Part[];
  comment: string;
  body: string;
};

// The name of an array type is an underscore and the name of the item type.
const toName = (type: string) =>
  `regexp_replace((select typname from pg_type where oid = ${type}), '^_(.*)$', '\\1[]')`;

const FUNCTIONS = `
select jsonb_agg(jsonb_build_object('name', proname, 'isVolatile', provolatile = 'v', 'isSet', proretset,
  'returned', ${toName("prorettype")}, 'comment', coalesce(obj_description(pg_proc.oid, 'pg_proc'), ''),
  'body', prosrc,
  'parts', (select coalesce(jsonb_agg(jsonb_build_object('name', coalesce(part, ''),
      'isPassed', coalesce(mode, 'i') = 'i', 'type', ${toName("type")}) order by ordinal), '[]')
    from rows from (unnest(coalesce(proallargtypes, proargtypes::oid[])), unnest(proargnames), unnest(proargmodes))
      with ordinality as parts (type, part, mode, ordinal))) order by proname) as functions
from pg_proc where pronamespace = 'rowhouse'::regnamespace and ($1::text is null or proname = $1)`;

/** The shapes of all callable functions of the service's schema, by name; of one if `name` is given. */
export async function readFunctions(
  admin: Database,
  name: string | null = null,
): Promise<Record<string, FunctionShape>> {
  const functions = await readValue<Row[] | null>(admin, FUNCTIONS, [name]);
  return Object.fromEntries((functions ?? []).flatMap(toShape));
}

/** Empty for a function with a type that code cannot use, such as a trigger. */
function toShape({ name, isVolatile, isSet, returned, parts, comment, body }: Row) {
  const { isIdempotent, nullable } = readComment(name, comment);
  const [passed, columns] = [
    parts.filter((part) => part.isPassed),
    parts.filter((part) => !part.isPassed),
  ];
  const isCallable = parts.every(({ type }) => TYPE.test(type));
  if (!isCallable || (columns.length === 0 && returned !== "void" && !TYPE.test(returned)))
    return [];
  const ofColumn = (column: Part) => [
    column.name,
    `${column.type}${nullable.has(column.name) ? "?" : ""}`,
  ];
  const returns =
    columns.length === 0
      ? `${returned}${nullable.has("result") ? "?" : ""}`
      : Object.fromEntries(columns.map(ofColumn));
  const types = Object.fromEntries(passed.map((part) => [part.name, part.type]));
  const action = CONSOLE_ACTIONS.find((action) => action.name === name);
  const { actor, visitor, ...parameters } = types;
  const shape = {
    ...((!isVolatile || isIdempotent) && { retry: "safe" }),
    ...(actor !== undefined && { caller: "operator" }),
    ...(visitor !== undefined && { caller: "visitor" }),
    parameters,
    returns,
    ...(isSet && { isSet }),
    ...(action && { input: { ...action.input, ...pick(types, action.input) } }),
    ...((action?.needsRecentSignIn ?? NEEDS_RECENT_SIGN_IN.test(body)) && {
      needs: "recent sign-in",
    }),
  };
  // All types were checked above.
  return [[name, shape as FunctionShape] as const];
}

/** The types of the function's own parameters, as PostgreSQL names them. */
function pick(types: Record<string, string>, input: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(types).filter(([name]) => name in input));
}

/**
 * A function's comment adds facts to its definition: `idempotent` if the function writes and can be repeated, and
 * `null <column>` or `null result` for nullable values.
 *
 * @throws {Error} the comment has other text
 */
function readComment(name: string, comment: string) {
  const parts = comment.split("; ").filter(Boolean);
  const unknown = parts.find((part) => part !== "idempotent" && !part.startsWith("null "));
  if (unknown !== undefined)
    throw new Error(`rowhouse.${name}: cannot read its comment "${unknown}"`);
  const nullable = parts.flatMap((part) =>
    part.startsWith("null ") ? part.slice(5).split(", ") : [],
  );
  return { isIdempotent: parts.includes("idempotent"), nullable: new Set(nullable) };
}

/** The shapes of functions that the code names, without functions that only SQL calls. */
export async function pickCalled(
  shapes: Readonly<Record<string, FunctionShape>>,
): Promise<Record<string, FunctionShape>> {
  const src = join(import.meta.dirname, "../src");
  const files = [...new Bun.Glob("**/*.{ts,tsx}").scanSync({ cwd: src, absolute: true })];
  const own = files.filter((file) => !file.includes("_test."));
  const code = await Promise.all(own.map((file) => Bun.file(file).text()));
  const named = new Set(code.flatMap((text) => text.match(/(?<=")[a-z_]+(?=")/g) ?? []));
  // The code names functions of the Console without their prefix.
  const isNamed = (name: string) => named.has(name) || named.has(name.replace(/^console_/, ""));
  return Object.fromEntries(Object.entries(shapes).filter(([name]) => isNamed(name)));
}

/** The file with these shapes: a line for each function. */
export function renderFunctions(shapes: Readonly<Record<string, FunctionShape>>): string {
  const lines = Object.entries(shapes).map(([name, shape]) => `  ${name}: ${render(shape)},\n`);
  return `/** Generated by \`bun run generate\` from a migrated database: the functions of the schema \`rowhouse\` that the code calls. @module */
// biome-ignore-all format: a line for each function
import type { FunctionShape } from "./call_types.ts";

export const FUNCTIONS = {
${lines.join("")}} as const satisfies Readonly<Record<string, FunctionShape>>;
`;
}

function render(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, part]) => `${key}: ${render(part)}`);
  return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
}
