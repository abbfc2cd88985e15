/** Facts that hold for every column kind: PostgreSQL's types and operators, and a value through a write, a filter and files. */
import { expect, test } from "bun:test";
import { readValue } from "../../src/db/mod.ts";
import { isSorted, KINDS, type Kind, SQL, VALUES } from "../../src/kinds/mod.ts";
import { makeMapping, makeRowsReader, makeRowsWriter, makeSource } from "../../src/rows/mod.ts";
import { defineSchema, type NamedColumn, readDefinition, t } from "../../src/schema/mod.ts";
import { splitObject } from "../../src/std/json_text.ts";
import { listIssues, makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { isLeakproof } from "../../src/tables/catalog/walks.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { pushDefinition } from "../support/push_steps.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const CHOICES = ["open", "done"] as const;
const schema = defineSchema({
  parents: { name: t.string() },
  things: Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      kind === "enum"
        ? t.enum(CHOICES)
        : kind === "ref"
          ? t.ref("parents")
          : t[kind as Exclude<Kind, "enum" | "ref">](),
    ]),
  ),
} as never);

const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const created = await service.call(app, "/v1/data/db/parents", { method: "POST", json: {} });
const parent = String(JSON.parse(created.text).id);

const columnOf = (kind: Kind): NamedColumn => ({
  ...{ name: kind, kind, required: false, unique: false, index: false },
  ...(kind === "enum" ? { values: CHOICES } : kind === "ref" ? { table: "parents" } : {}),
});
const sampleOf = (kind: Kind) => (kind === "ref" ? parent : VALUES[kind].sample(columnOf(kind)));

test.each(KINDS)("a %s is stored, returned, found and exported unchanged", async (kind) => {
  const value = sampleOf(kind);
  const json = { [kind]: value };
  const created = await service.call(app, "/v1/data/db/things", { method: "POST", json });
  expect([created.status, JSON.parse(created.text)[kind]]).toEqual([201, value]);
  const path = new URL(created.headers.get("location") ?? "", service.url).pathname;
  const got = await service.call(app, path);
  expect(JSON.parse(got.text)[kind]).toEqual(value);
  if (isSorted({ kind })) {
    const query = new URLSearchParams({ [kind]: `eq.${value}`, order: kind });
    const found = await service.call(app, `/v1/data/db/things?${query}`);
    expect([found.status, JSON.parse(found.text).rows.length]).toEqual([200, 1]);
  }
  const table = { name: "things", columns: [columnOf(kind)], indexes: [], uniques: [] };
  for (const format of ["csv", "ndjson"] as const) {
    const writer = makeRowsWriter(table, format);
    const only = JSON.stringify({ id: JSON.parse(got.text).id, [kind]: value });
    const reader = makeRowsReader(makeSource(format, {}), {
      table,
      mapping: makeMapping(table, {}),
    });
    const parts = [reader.push(writer.start + writer.toText(splitObject(only))), reader.end()];
    expect(parts.flatMap(({ issues }) => issues)).toEqual([]);
    expect(parts.flatMap(({ rows }) => rows).map(({ values }) => values)).toEqual([json] as never);
  }
});

/** Behind row security, PostgreSQL searches an index only for comparisons whose functions are leakproof: the others need a finder. */
test.each(KINDS.filter((kind) => SQL[kind].type !== undefined))(
  "PostgreSQL prints the type of a %s as declared, and searches its index behind row security if its comparisons are leakproof",
  async (kind) => {
    const { type, ends, parts } = SQL[kind];
    // An index contains the parts of a value instead of the value, and is searched by the first.
    const searched = parts?.start.type ?? type?.name;
    const found = await readValue<unknown>(
      service.service.admin,
      `select pg_catalog.json_build_object('printed', pg_catalog.format_type(to_regtype('${type?.name}'), null),
        'isSearchable', (select bool_and(p.proleakproof) from pg_operator o join pg_proc p on p.oid = o.oprcode
          where o.oprleft = to_regtype('${searched}') and o.oprright = o.oprleft
            and o.oprname in ('=', '<', '<=', '>', '>=')))`,
    );
    expect(found).toMatchObject({
      printed: type?.printed,
      ...(ends !== undefined && { isSearchable: isLeakproof(kind) }),
    });
  },
);

/** A service stops if a default is not one that a push sets. */
test("the guard accepts every computed default, and the sample of every kind as a default", async () => {
  const { admin } = service.service;
  const columns = KINDS.flatMap((kind) => [
    ...Object.keys(SQL[kind].computed ?? {}).map((value) => ({ kind, value })),
    ...(kind === "ref" ? [] : [{ kind, value: sampleOf(kind) }]),
  ]).map(({ kind, value }, index) => ({ ...columnOf(kind), name: `c${index}`, default: value }));
  const table = { name: "defaults", columns, indexes: [], uniques: [] };
  const read = readDefinition({ version: 1, tables: [table] });
  if ("issues" in read) throw new Error(JSON.stringify(read.issues));
  const own = await service.makeApp();
  const options = { app: own, definition: read.definition, options: { dryRun: false } };
  await pushDefinition({ admin: service.pushing, log: () => undefined }, options);
  expect(listIssues(await makeIsolationCheck(admin)())).toEqual([]);
  expect(await readDrift(admin)).toEqual([]);
});
