import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { qualify } from "../../src/push/qualify.ts";
import { makeEmptyDatabase, withDatabase } from "../support/cluster.ts";

test.each([
  ['"$a" + 1', '"$a" operator(pg_catalog.+) 1'],
  [
    "$1 <> all (array['a + b', E'\\'c'])",
    "$1 operator(pg_catalog.<>) all (array['a + b', E'\\'c'])",
  ],
  ["lower($1)::text[]", "pg_catalog.lower($1)::pg_catalog.text[]"],
  ['left("$a", 1)', 'pg_catalog.left("$a", 1)'],
  ["select count(*) from pg_class", "select pg_catalog.count(*) from pg_catalog.pg_class"],
  [
    'from data."a" as "$a" left join data."b" as "$b" on true',
    'from data."a" as "$a" left join data."b" as "$b" on true',
  ],
  [
    `raise exception 'a' using errcode = '22023', detail = "$a"`,
    `raise exception 'a' using errcode = '22023', detail = "$a"`,
  ],
  [
    'update data."a" as "$t" set "a" = 1, "b" = case when $1 = $2 then 1 end where "$t"."a" = 1',
    'update data."a" as "$t" set "a" = 1, "b" = case when $1 operator(pg_catalog.=) $2 then 1 end where "$t"."a" operator(pg_catalog.=) 1',
  ],
  ["-- a = b\n$1 = $$ a = b $$", "-- a = b\n$1 operator(pg_catalog.=) $$ a = b $$"],
  [
    'insert into data."a" as "$t" ("app_id", "id") values ($1, $2)',
    'insert into data."a" as "$t" ("app_id", "id") values ($1, $2)',
  ],
  [
    'declare "$a" text := null; "$b" data."e";',
    'declare "$a" pg_catalog.text := null; "$b" data."e";',
  ],
  ["$1 ->> 'a' = '(' || $2", undefined],
  ["'(' || $2 = $1 ->> 'a'", undefined],
])("%s", (plain, qualified) => {
  if (qualified === undefined) expect(() => qualify(plain)).toThrow("Cannot qualify");
  else expect(qualify(plain)).toBe(qualified);
});

describe("has no safe form for", () => {
  test.each([
    "$1 is distinct from $2",
    "$1 is not distinct from $2",
    "$1 in ($2, $3)",
    "$1 not in (select 1)",
    "case $1 when $2 then 1 end",
    'from data."a" as "$a" join data."b" as "$b" using ("id")',
    'select from "pg_class"',
    'select from data."a" as "$a", "pg_class"',
    'select "now"()',
    '$1::"uuid"',
    'declare "$a" "uuid";',
    "'pg_class'::regclass",
    "$1::regclass",
    '"id" + 1',
    "$1 = $2 + 1",
    "$1 = $2 = $3",
    "$1 + $2 * $3",
    "1 = case when $1 then 2 end + 3",
    "$1 != $2",
    "$1 @@ $2",
    "f($1 => 2)",
    "($1",
    "[$1)",
    "$1)",
    "/* a */ 1",
    "'a\\'",
    "'a",
    '"a',
    "é",
  ])("%s", (plain) => expect(() => qualify(plain)).toThrow("Cannot qualify"));
});

describe("PostgreSQL", () => {
  let empty: Awaited<ReturnType<typeof makeEmptyDatabase>>;
  beforeAll(async () => {
    empty = await makeEmptyDatabase();
  });
  afterAll(() => empty.drop());

  test("reads the qualified SQL like the plain SQL", async () => {
    const number = fc.integer({ min: 1, max: 9 }).map(String);
    const { sum } = fc.letrec<{ sum: string; term: string }>((tie) => ({
      term: fc.oneof(
        { maxDepth: 3 },
        number,
        number,
        tie("sum").map((inner) => `(${inner})`),
        tie("sum").map((inner) => `case when true then ${inner} end`),
      ),
      sum: fc
        .tuple(
          tie("term"),
          fc.array(fc.tuple(fc.constantFrom("+", "-", "*", "/", "%", "&"), tie("term")), {
            maxLength: 3,
          }),
        )
        .map(([first, rest]) => [first, ...rest.flat()].join(" ")),
    }));
    const condition = fc
      .tuple(sum, fc.constantFrom("=", "<", ">=", "<>"), sum)
      .map((parts) => parts.join(" "));
    const pairs = fc
      .sample(fc.oneof(sum, condition), { numRuns: 1000, seed: 1 })
      .flatMap((plain) => {
        try {
          return [[plain, qualify(plain)] as const];
        } catch {
          return []; // its meaning would change
        }
      });
    expect(pairs.length).toBeGreaterThan(200);
    expect(pairs.length).toBeLessThan(900);
    await withDatabase(empty.url, async (admin) => {
      for (const [plain, qualified] of pairs) {
        const read = (sql: string) =>
          admin.message(`select (${sql})::text as result`).catch((error: unknown) => String(error));
        expect([plain, await read(qualified)]).toEqual([plain, await read(plain)]);
      }
    });
  });
});
