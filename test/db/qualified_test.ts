/**
 * SQL that the service sends names the schema of every function, table and type. Whatever changed a session's search path,
 * such as code that was planted among apps' tables, then finds no name to take the place of.
 */
import { expect, test } from "bun:test";
import { Glob } from "bun";

/** SQL that sets the search path itself, in the function or the message that it is part of. */
const PINNED: ReadonlySet<string> = new Set([
  // FACTS_SETTINGS is the beginning of the same message; in the database it is part of a function that sets it.
  "push/snapshot.ts",
  // Runs at development only, in an embedded database that is made for it.
  "bin/cli/functions.ts",
]);
/** What looks like a call and is part of the language, and PostgreSQL resolves without a search path. */
const SYNTAX = new Set(
  `all and any array as by cast coalesce conflict exists extract filter from greatest in into lateral least not nullif on
  operator or over primary returning row set then using values when where with`.split(/\s+/),
);

const LITERAL = /`((?:[^`\\]|\\.)*)`|"((?:[^"\\\n]|\\.)*)"/g;
const STATEMENT = /^\s*(with|select|insert into|update|delete from|do \$|alter|create|grant)\b/;

/** Names that statements define themselves; one can be put together from several literals of a file. */
function findOwn(sql: string): string[] {
  const patterns = [/([a-z_]+)(?: \([a-z_, ]+\))? as (?:materialized )?\(/g, /\bas "?([a-z_]+)/g];
  return patterns.flatMap((pattern) => [...sql.matchAll(pattern)].map(([, name = ""]) => name));
}

/** The names without a schema in a literal of code, if it is SQL. */
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
  for (const path of new Glob("**/*.ts").scanSync("src")) {
    if (PINNED.has(path)) continue;
    const text = (await Bun.file(`src/${path}`).text()).replaceAll(/\/\*[\s\S]*?\*\//g, "");
    for (const [, template, plain] of text.matchAll(LITERAL))
      for (const name of findUnqualified(template ?? plain ?? "", text))
        found.push(`${path}: ${name}`);
  }
  expect(found).toEqual([]);
});

test("every function in the service's SQL sets its search path", async () => {
  const open: string[] = [];
  for (const path of new Glob("*.sql").scanSync("src/db/migrations")) {
    const text = await Bun.file(`src/db/migrations/${path}`).text();
    for (const [definition, name] of text.matchAll(
      /^create function (rowhouse\.\w+)[\s\S]*?\$\$/gm,
    ))
      if (!definition.includes("set search_path = pg_catalog, pg_temp") && !isVisitors(text, name))
        open.push(`${path}: ${name}`);
  }
  expect(open).toEqual([]);
});

/** Functions that a visitor calls get theirs where they are written out. */
function isVisitors(text: string, name = ""): boolean {
  return new RegExp(`^-- proves: .*\\ncreate function ${name}\\(`, "m").test(text);
}
