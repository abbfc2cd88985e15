/**
 * All SQL of the service names the schema of each function, table and type. Planted code that changes a session's search
 * path then cannot replace an object.
 */
import { expect, test } from "bun:test";
import { Glob } from "bun";
import { fillConstants } from "../../src/db/code/mod.ts";
import { qualify } from "../../src/tables/qualify.ts";

/** SQL that sets the search path itself, in the same function or message. */
const PINNED: ReadonlySet<string> = new Set([
  // FACTS_SETTINGS is at the start of the same message. In the database, the SQL is part of a function that sets the path.
  "tables/verify/snapshot.ts",
]);
/** The bodies of generated functions: `qualify()` adds the schemas. */
const GENERATED = /^tables\/sql\/(functions\/(writes\/)?)?\w+_(block|body|bodies|terms|rows)\.ts$/;
/** Keywords of the language that look like function calls. PostgreSQL resolves them without a search path. */
const SYNTAX = new Set(
  `all and any array as by cast coalesce conflict exists extract filter from greatest in into lateral least not nullif on
  operator or over primary returning row set then using values when where with`.split(/\s+/),
);

const LITERAL = /`((?:[^`\\]|\\.)*)`|"((?:[^"\\\n]|\\.)*)"/g;
const STATEMENT = /^\s*(with|select|insert into|update|delete from|do \$|alter|create|grant)\b/;

/** Returns the names that statements define. A statement can consist of several literals of a file. */
function findOwn(sql: string): string[] {
  const patterns = [/([a-z_]+)(?: \([a-z_, ]+\))? as (?:materialized )?\(/g, /\bas "?([a-z_]+)/g];
  return patterns.flatMap((pattern) => [...sql.matchAll(pattern)].map(([, name = ""]) => name));
}

/** Returns the names without a schema in a literal of SQL. */
function findUnqualified(literal: string, file = literal): string[] {
  if (!STATEMENT.test(literal) || !/\b(select|update|insert|delete)\b/.test(literal)) return [];
  if (literal.includes("set search_path")) return [];
  const sql = literal.replaceAll(/'(?:[^']|'')*'/g, "''").replaceAll(/\$\{[^}]*\}/g, " $ ");
  const find = (pattern: RegExp) => [...sql.matchAll(pattern)].map(([, name = ""]) => name);
  const own = new Set(findOwn(file));
  const called = find(/(?<![.\w"$])([a-z_][a-z0-9_]*)\(/g).filter((name) => !SYNTAX.has(name));
  const read = find(/\b(?:from|join|into)\s+([a-z_][a-z0-9_]*)(?![\w.])/g).filter(
    (name) => !SYNTAX.has(name) && !["select", "only", "rows"].includes(name),
  );
  const typed = find(/::([a-z_][a-z0-9_]*)(?![\w.])/g);
  return [...called, ...read, ...typed].filter((name) => !own.has(name));
}

test.each<{ sql: string; names: string[] }>([
  { sql: "select rowhouse.f($1, string_to_array($2, ','))", names: ["string_to_array"] },
  { sql: "select a from tables where b", names: ["tables"] },
  { sql: "select $1::text", names: ["text"] },
  { sql: "select $1::pg_catalog.text from rowhouse.apps where pg_catalog.count(*) > 0", names: [] },
  { sql: "with found as (select 1) select coalesce(null, 1) from found", names: [] },
])("finds $names in $sql", ({ sql, names }) => expect(findUnqualified(sql)).toEqual(names));

test("every name in the code's SQL has its schema", async () => {
  const found: string[] = [];
  let statements = 0;
  for (const path of new Glob("**/*.{ts,tsx}").scanSync("src")) {
    if (PINNED.has(path) || GENERATED.test(path) || path.includes("_test.")) continue;
    const text = (await Bun.file(`src/${path}`).text()).replaceAll(/\/\*[\s\S]*?\*\//g, "");
    for (const [, template, plain] of text.matchAll(LITERAL)) {
      const literal = template ?? plain ?? "";
      if (STATEMENT.test(literal)) statements += 1;
      for (const name of findUnqualified(literal, text)) found.push(`${path}: ${name}`);
    }
  }
  expect(statements).toBeGreaterThan(50);
  expect(found).toEqual([]);
});

test("every function in the service's SQL sets its search path, or needs none", async () => {
  const open: string[] = [];
  let [functions, qualified] = [0, 0];
  for (const path of new Glob("**/*.sql").scanSync("src/db/code")) {
    const text = fillConstants(await Bun.file(`src/db/code/${path}`).text());
    for (const [, definition = "", name, body = ""] of text.matchAll(
      /^(create function ((?:rowhouse|find)\.\w+)[\s\S]*?)\$\$([\s\S]*?)\$\$;/gm,
    )) {
      functions += 1;
      if (definition.includes("set search_path = pg_catalog, pg_temp") || isVisitors(text, name))
        continue;
      // As `qualify()` writes them.
      const plain = body.replaceAll(/operator\(pg_catalog\.(\S+)\)/g, "$1");
      if (body.trim() !== qualify(plain).trim()) open.push(`${path}: ${name}`);
      else qualified += 1;
    }
  }
  expect(functions).toBeGreaterThan(150);
  expect(qualified).toBe(7);
  expect(open).toEqual([]);
});

/** The generated code of a function that visitors call sets the search path. */
function isVisitors(text: string, name = ""): boolean {
  return new RegExp(`^-- proves: .*\\ncreate function ${name}\\(`, "m").test(text);
}
