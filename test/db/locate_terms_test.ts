/** The tables in the SQL of a rule get the names of the app's shards on a cluster. Its nodes are functions made by hand here. */
import { expect, test } from "bun:test";
import { LOCATE_TERMS } from "../../src/db/citus/functions.ts";
import { readValue } from "../../src/db/mod.ts";
import { quoteLiteral } from "../../src/std/quote.ts";
import { makeEmptyDatabase, withDatabase } from "../support/cluster.ts";
import { share } from "../support/share.ts";

const NODE = `create schema rowhouse;
  create function rowhouse.shard_of(app uuid, name text) returns bigint language sql as 'select 7';
  create function rowhouse.name_shard(name text, shard bigint) returns text language sql
    as $$ select concat(name, '_', shard) $$;
  ${LOCATE_TERMS}
  select 1`;

const database = await share(makeEmptyDatabase());
await withDatabase(database.url, (root) => root.message(NODE));

const readsTable = (name: string) => `exists (select from data."${name}" as "$o1" where true)`;

test.each([
  ["a table", readsTable("teams"), readsTable("teams_7")],
  [
    "two tables",
    `${readsTable("a")} or ${readsTable("b")}`,
    `${readsTable("a_7")} or ${readsTable("b_7")}`,
  ],
  ...[
    'data."teams" as "$',
    `it's data."teams" as "$`,
    `\\' data."teams" as "$`,
    `'data."teams" as "$'`,
    `\n'"`,
  ].map((value): [string, string, string] => {
    const around = (name: string) =>
      `"$t"."a" = ${quoteLiteral(value)} and ${readsTable(name)} and "$t"."b" = ${quoteLiteral(value)}`;
    return [`the literal ${JSON.stringify(value)}`, around("teams"), around("teams_7")];
  }),
])("the terms of a rule with %s", async (_, read, located) => {
  const terms = { table: "notes", read, label: "don't" };
  const found = await withDatabase(database.url, (root) =>
    readValue(root, "select rowhouse.locate_terms(gen_random_uuid(), $1::text::jsonb) as terms", [
      JSON.stringify(terms),
    ]),
  );
  expect(found).toEqual({ ...terms, table: "notes_7", shard: 7, read: located });
});
