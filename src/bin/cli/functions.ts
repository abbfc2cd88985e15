/** Reads the service's SQL functions from a migrated database, and renders `db/functions.ts` from them. @module */
import { type Database, type FunctionShape, readRows } from "../../db/mod.ts";

export const FUNCTIONS_FILE = "src/db/functions.ts";

/** The types that `call()` can pass and read. */
const NAMES = "bool|bytea|float8|int2|int4|int8|json|jsonb|text|timestamptz|uuid";
const TYPE = new RegExp(`^(${NAMES})(\\[\\])?$`);

/** The call that `defineVisitorFunctions()` writes. */
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
      'isPassed', coalesce(mode, 'i') = 'i', 'type', ${toName("type")}) order by place), '[]')
    from rows from (unnest(coalesce(proallargtypes, proargtypes::oid[])), unnest(proargnames), unnest(proargmodes))
      with ordinality as parts (type, part, mode, place))) order by proname) as functions
from pg_proc where pronamespace = 'rowhouse'::regnamespace`;

/** The shapes of all callable functions of the service's schema, by name. */
export async function readFunctions(admin: Database): Promise<Record<string, FunctionShape>> {
  const [row] = await readRows<{ functions: Row[] }>(admin, FUNCTIONS);
  return Object.fromEntries((row?.functions ?? []).flatMap(toShape));
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
  const shape = {
    retry: isVolatile && !isIdempotent ? "unsafe" : "safe",
    takes: Object.fromEntries(passed.map((part) => [part.name, part.type])),
    returns,
    isSet,
    ...(NEEDS_RECENT_SIGN_IN.test(body) && { needs: "recent sign-in" }),
  };
  // All types were checked above.
  return [[name, shape as FunctionShape] as const];
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

/** The file with all shapes. */
export function renderFunctions(shapes: Readonly<Record<string, FunctionShape>>): string {
  return `/** Made by \`bun run generate\` from a migrated database: the functions of the schema \`rowhouse\`. @module */
import type { FunctionShape } from "./call_types.ts";

export const FUNCTIONS = ${render(shapes, "")} as const satisfies Readonly<Record<string, FunctionShape>>;
`;
}

/** Formats like the formatter: an object that does not fit on a line has a line for each entry. */
function render(value: unknown, indent: string, before = 0): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return "{}";
  const short = `{ ${entries.map(([key, part]) => `${key}: ${render(part, "")}`).join(", ")} }`;
  if (!short.includes("\n") && indent.length + before + short.length < LINE) return short;
  const inner = `${indent}  `;
  const lines = entries.map(
    ([key, part]) => `${inner}${key}: ${render(part, inner, key.length + 2)},\n`,
  );
  return `{\n${lines.join("")}${indent}}`;
}
const LINE = 100;
