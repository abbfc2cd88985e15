/**
 * Reads `.sql` files of the service as statements, and sorts those of the code by what they define. Pure.
 *
 * @module
 */

import type { Finders } from "../reader.ts";

/** Comments, texts, quoted names and bodies, in which a semicolon ends no statement. */
const TOKENS =
  /--.*|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|\nbegin atomic\n[\s\S]*?\nend(?=;)|;|[^-'"$;\n]+|[-$'"\n]/g;

/** The statements of a text, without the comments before them. */
export function splitStatements(sql: string): string[] {
  const statements: string[] = [];
  let statement = "";
  for (const [token] of sql.matchAll(TOKENS)) {
    if (token === ";") {
      statements.push(statement.trim());
      statement = "";
    } else if (!(token.startsWith("--") && statement.trim() === "")) statement += token;
  }
  if (statement.trim() !== "") statements.push(statement.trim());
  return statements;
}

/** The code of a release, by kind of object. Functions have unique names. */
export type Code = {
  readonly functions: Readonly<Record<string, string>>;
  readonly finders: Finders;
  readonly triggers: readonly OnTable[];
  readonly policies: readonly OnTable[];
  /** Grants, owners and comments, in order. */
  readonly rights: readonly string[];
  /** Rights of objects that do not exist yet. */
  readonly defaults: readonly string[];
};

type OnTable = { readonly name: string; readonly table: string; readonly sql: string };

const FUNCTION = /^create (?:or replace )?function rowhouse\.(\w+)\(/;
const FINDER = /^create (?:or replace )?function find\.(\w+)\(/;
const ON_TABLE = /^create (trigger|policy) (\w+)\b[\s\S]*?\bon rowhouse\.(\w+)/;
const RIGHT =
  /^(?:grant|revoke|comment on function (?!find\.)|alter function rowhouse\.\w+(?:\([^)]*\))? owner to)\b/;
/** Of functions of the schema find. Their comments are digests. */
const FINDER_RIGHT =
  /^(?:alter function find\.\w+(?:\([^)]*\))?\s+owner to rowhouse_reader$|(?:grant|revoke)\s[^;]*?\bon function\s+find\.)/;
const FINDER_NAMES = /\bfind\.(\w+)/g;
const DEFAULT = /^alter default privileges\b/;

/**
 * The statements of code, sorted.
 *
 * @throws {Error} a statement defines something else, such as a table, or a function twice
 */
export function readCode(sql: string): Code {
  const functions: Record<string, string> = {};
  const finders: Record<string, [string, ...string[]]> = {};
  const tables: Record<"trigger" | "policy", OnTable[]> = { trigger: [], policy: [] };
  const [rights, defaults]: [string[], string[]] = [[], []];
  for (const statement of splitStatements(sql)) {
    const [, called] = FUNCTION.exec(statement) ?? [];
    const [, finder] = FINDER.exec(statement) ?? [];
    const [, kind, name = "", table = ""] = ON_TABLE.exec(statement) ?? [];
    if (called !== undefined) {
      if (called in functions) throw new Error(toTwice(`rowhouse.${called}`));
      functions[called] = toReplace(statement);
    } else if (finder !== undefined) {
      if (finder in finders) throw new Error(toTwice(`find.${finder}`));
      finders[finder] = [toReplace(statement)];
    } else if (FINDER_RIGHT.test(statement)) {
      for (const [, name = ""] of statement.matchAll(FINDER_NAMES)) {
        if (finders[name] === undefined)
          throw new Error(`The code has rights of find.${name}() before it defines the function`);
        finders[name].push(statement);
      }
    } else if (kind === "trigger" || kind === "policy")
      tables[kind].push({ name, table, sql: statement });
    else if (RIGHT.test(statement)) rights.push(statement);
    else if (DEFAULT.test(statement)) defaults.push(statement);
    else throw new Error(toComplaint(statement));
  }
  const { trigger: triggers, policy: policies } = tables;
  return { functions, finders, triggers, policies, rights, defaults };
}

function toReplace(statement: string): string {
  return statement.replace(/^create (?:or replace )?/, "create or replace ");
}

function toTwice(name: string): string {
  return `The code defines ${name}() twice: a function with other arguments needs another name`;
}

function toComplaint(statement: string): string {
  const start = statement.split("\n")[0] ?? "";
  return `The code cannot contain "${start}": a table changes only by a new numbered file in src/db/migrations/ (CONTRIBUTING.md)`;
}
