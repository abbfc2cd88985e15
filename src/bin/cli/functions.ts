/** The service's SQL functions as a migrated database has them, and the text of `db/functions.ts`, which is made from them. @module */
import { type Database, type FunctionShape, readRows } from "../../db/mod.ts";

export const FUNCTIONS_FILE = "src/db/functions.ts";

/** What `call()` can pass and read. */
const NAMES = "bool|bytea|float8|int2|int4|int8|json|jsonb|text|timestamptz|uuid";
const TYPE = new RegExp(`^(${NAMES})(\\[\\])?$`);

/** As `defineVisitorFunctions()` writes it. */
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

// An array's type has the name of its items' behind an underscore.
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

/** The shapes of all functions of the service's schema that code can call, by name. */
export async function readFunctions(admin: Database): Promise<Record<string, FunctionShape>> {
  const [row] = await readRows<{ functions: Row[] }>(admin, FUNCTIONS);
  return Object.fromEntries((row?.functions ?? []).flatMap(toShape));
}

/** Nothing, for a function that takes or returns what has no type in code, as triggers do. */
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
  // The types were compared with those that a shape may have.
  return [[name, shape as FunctionShape] as const];
}

/**
 * A function's comment says what its definition cannot: `idempotent` if a repetition does no harm though it writes, and
 * `null <column>` or `null result` for what can be null.
 *
 * @throws {Error} it says something else
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

/** As the formatter would write it: an object that does not fit on a line has a line for each entry. */
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
