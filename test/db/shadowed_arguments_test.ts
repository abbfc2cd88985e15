/**
 * Arguments of SQL functions that a column hides: in a function of the language SQL, and in PL/pgSQL with `use_column`, an unqualified
 * name is the column of a table in the statement, never the argument. PL/pgSQL otherwise reports the conflict when it runs.
 */
import { expect, test } from "bun:test";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());

type Found = {
  name: string;
  arguments: string[] | null;
  body: string;
  columns: Record<string, string[]>;
};

/** The functions of our schemas, and the columns of the tables that their bodies name. */
const FUNCTIONS = `
  select proname as name, (
      select pg_catalog.json_agg(argument)
      from unnest(proargnames, coalesce(proargmodes::text[], array_fill('i'::text, array[cardinality(proargnames)])))
        as listed (argument, mode)
      where mode in ('i', 'b', 'v')) as arguments, prosrc as body,
    (select coalesce(pg_catalog.jsonb_object_agg(relname, columns), '{}') from (
      select relname, pg_catalog.jsonb_agg(attname) as columns
      from pg_catalog.pg_class join pg_catalog.pg_attribute on attrelid = pg_class.oid and attnum > 0
      where relnamespace = any (array['rowhouse', 'data']::pg_catalog.regnamespace[]) and relkind in ('r', 'p', 'v')
        and prosrc ~ ('\\m' || relname || '\\M')
      group by relname) as named) as columns
  from pg_catalog.pg_proc join pg_catalog.pg_language on pg_language.oid = prolang
  where pronamespace = any (array['rowhouse', 'api', 'data', 'find']::pg_catalog.regnamespace[])
    and proargnames is not null and (lanname = 'sql' or lanname = 'plpgsql' and prosrc ~ '#variable_conflict use_column')`;

async function findHidden(): Promise<string[]> {
  const functions = await service.query<Found>(FUNCTIONS);
  expect(functions.length).toBeGreaterThan(100);
  return functions.flatMap(({ name, arguments: names, body, columns }) => {
    const hiding = new Set(Object.values(columns).flat());
    const code = toTerms(body);
    return (names ?? [])
      .filter((argument) => hiding.has(argument))
      .filter((argument) => new RegExp(`(?<![.\\w"])${argument}(?![\\w".(])`).test(code))
      .map((argument) => `${name}: ${argument}`);
  });
}

/** Without texts, comments, lists of columns, and names that a statement gives. */
function toTerms(body: string): string {
  return body
    .replace(/--.*$/gm, "")
    .replace(/'(?:[^']|'')*'/g, "''")
    .replace(/(\binsert into [\w."]+(?: as \w+)?|\bas \w+|\bon conflict) \([^()]*\)/g, "$1")
    .replace(/\bas \w+|\b\w+(?= =>)/g, "");
}

test("no unqualified name means a column where an argument has the name", async () => {
  expect(await findHidden()).toEqual([]);
});

test.each([
  { language: "sql", body: "select count(*) from rowhouse.users where users.email = email" },
  {
    language: "plpgsql",
    body: "#variable_conflict use_column\nbegin return (select count(*) from rowhouse.users where id is not null and email = email); end",
  },
])("a hidden argument in $language is found", async ({ language, body }) => {
  const { admin } = service.service;
  await admin.message(
    `create function rowhouse.planted(email text) returns bigint language ${language} as $$ ${body} $$; select 1`,
  );
  expect(await findHidden()).toEqual(["planted: email"]);
  await admin.message("drop function rowhouse.planted; select 1");
});
