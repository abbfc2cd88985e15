/** Declarations over an existing table by its owner and by another app. Each case is a row. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { OnDelete } from "../../src/kinds/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { eventually } from "../support/eventually.ts";
import { dumpDatabase, freshName, postSchema } from "../support/push.ts";
import { openTestService, type TestService } from "../support/service.ts";

let service: TestService;

/** Opens a service for each group: each table of an earlier test slows down the comparison of the whole database. */
function describeOpen(name: string, define: () => void): void {
  describe(name, () => {
    beforeAll(async () => {
      service = await openTestService();
    });
    afterAll(() => service.close());
    define();
  });
}

/** The existing table, or a variant: `changes` replaces, adds or (`undefined`) removes columns. */
function table(other: string, changes: Record<string, unknown> = {}, more: Lists = {}) {
  const columns = {
    title: t.string().required().index(),
    status: t.enum(["open", "doing", "done"]).required().default("open"),
    note: t.string(),
    code: t.string().unique(),
    parent: t.ref(other, { onDelete: "cascade" }),
    friend: t.ref(other),
    shape: t.json<{ a: number }>(),
    created_at: t.timestamp().required().default("now"),
    updated_at: t.timestamp().required().default("now").onUpdate("now"),
    amount: t.decimal().default("1.50"),
    ...changes,
  };
  const declared = Object.entries(columns).filter(([, column]) => column !== undefined);
  if (more.order === "reversed") declared.reverse();
  let model = t.model(Object.fromEntries(declared) as Record<string, ReturnType<typeof t.string>>);
  for (const list of more.indexes ?? [["status", "note"]])
    model = model.index(...(list as [string]));
  for (const list of more.uniques ?? [["title", "note"]])
    model = model.unique(...(list as [string]));
  return model;
}
type Lists = { indexes?: string[][]; uniques?: string[][]; order?: "reversed" | undefined };

type Case = {
  name: string;
  changes?: Record<string, unknown>;
  lists?: Lists;
  order?: "reversed";
  /** The columns that the details of the rejection name, or "" for the table. */
  blames?: string[];
  /** Part of the response's text. */
  expected?: string;
  /** Whether an accepted push can change PostgreSQL's tables. */
  ddl?: boolean;
  /** Whether an accepted push creates new functions. */
  makesFunctions?: boolean;
  /** The status of an accepted push; default: applied. */
  status?: "unchanged";
};

const OTHER_APP: Case[] = [
  { name: "the identical declaration" },
  {
    name: "without a nullable column",
    changes: { note: undefined },
    lists: { indexes: [], uniques: [] },
    makesFunctions: true,
  },
  {
    name: "without a column that has a default",
    changes: { amount: undefined },
    makesFunctions: true,
  },
  {
    name: "without a required column that has a default",
    changes: { created_at: undefined },
    makesFunctions: true,
  },
  {
    name: "fewer enum values in the same order",
    changes: { status: t.enum(["open", "done"]).required().default("open") },
  },
  { name: "without an index", changes: { title: t.string().required() }, lists: { indexes: [] } },
  { name: "without a unique", changes: { code: t.string() }, lists: { uniques: [] } },
  { name: "another json shape", changes: { shape: t.json<string[]>() } },
  { name: "another order of columns", order: "reversed" },
  { name: "without a reference", changes: { parent: undefined }, makesFunctions: true },
  {
    name: "without a required column that has no default",
    changes: { title: undefined },
    lists: { uniques: [] },
    blames: ["title"],
    expected: "required column without a default",
  },
  {
    name: "an extra nullable column",
    changes: { extra: t.string() },
    blames: ["extra"],
    expected: "this column, which the table's owner",
  },
  {
    name: "an extra index",
    changes: { note: t.string().index() },
    blames: [""],
    expected: "an index on (note)",
  },
  {
    name: "an extra composite index",
    lists: { indexes: [["title", "status"]] },
    blames: [""],
    expected: "an index on (title, status)",
  },
  {
    name: "an index in another order",
    lists: { indexes: [["note", "status"]] },
    blames: [""],
    expected: "an index on (note, status)",
  },
  {
    name: "an extra unique",
    changes: { note: t.string().unique() },
    blames: [""],
    expected: "a unique constraint on (note)",
  },
  {
    name: "an extra composite unique",
    lists: { uniques: [["title", "status"]] },
    blames: [""],
    expected: "a unique constraint on (title, status)",
  },
  {
    name: "another type",
    changes: { note: t.number() },
    blames: ["note"],
    expected: "The schema declares number, but the table has string",
  },
  {
    name: "decimal instead of number",
    changes: { amount: t.number().default(1.5) },
    blames: ["amount", "amount"],
  },
  {
    name: "optional instead of required",
    changes: { title: t.string().index() },
    blames: ["title"],
    expected: "The schema declares an optional column, but the table has a required column",
  },
  {
    name: "required instead of optional",
    changes: { note: t.string().required() },
    blames: ["note"],
    expected: "The schema declares a required column, but the table has an optional column",
  },
  {
    name: "another default",
    changes: { amount: t.decimal().default("2") },
    blames: ["amount"],
    expected: "default",
  },
  {
    name: "no default instead of a default",
    changes: { amount: t.decimal() },
    blames: ["amount"],
    expected: "The schema declares no default",
  },
  {
    name: "a default instead of no default",
    changes: { note: t.string().default("x") },
    blames: ["note"],
  },
  {
    name: "a reference without onDelete",
    changes: { parent: t.ref("OTHER") },
    blames: ["parent"],
    expected: "onDelete",
  },
  {
    name: "a reference with onDelete",
    changes: { friend: t.ref("OTHER", { onDelete: "cascade" }) },
    blames: ["friend"],
  },
  {
    name: "set null instead of cascade",
    changes: { parent: t.ref("OTHER", { onDelete: "set null" }) },
    blames: ["parent"],
    expected: "onDelete set null, but the table has onDelete cascade",
  },
  {
    name: "a time without the rule for updates",
    changes: { updated_at: t.timestamp().required().default("now") },
    blames: ["updated_at"],
    expected: "The schema declares no onUpdate",
  },
  {
    name: "a time with a rule for updates",
    changes: { created_at: t.timestamp().required().default("now").onUpdate("now") },
    blames: ["created_at"],
    expected: "The schema declares onUpdate now",
  },
  {
    name: "a reference to another table",
    changes: { friend: t.ref("SELF") },
    blames: ["friend"],
    expected: "ref(",
  },
  { name: "uuid instead of a reference", changes: { friend: t.uuid() }, blames: ["friend"] },
  {
    name: "an enum value that the table lacks",
    changes: { status: t.enum(["open", "doing", "done", "late"]).required().default("open") },
    blames: ["status"],
    expected: "late",
  },
  {
    name: "enum values in another order",
    changes: { status: t.enum(["doing", "open"]).required().default("open") },
    blames: ["status"],
  },
  {
    name: "five conflicts together",
    changes: { title: undefined, note: t.number(), extra: t.boolean(), amount: t.decimal() },
    lists: { indexes: [], uniques: [["code", "status"]] },
    blames: ["", "amount", "extra", "note", "title"],
  },
];

const OWNER_UNSHARED: Case[] = [
  { name: "a nullable column", changes: { extra: t.string() }, ddl: true },
  {
    name: "a required column with a default",
    changes: { extra: t.number().required().default(7) },
    ddl: true,
  },
  {
    name: "a required column with default now",
    changes: { extra: t.timestamp().required().default("now") },
    ddl: true,
    expected: "time of this push",
  },
  {
    name: "an enum value at the end",
    changes: { status: t.enum(["open", "doing", "done", "late"]).required().default("open") },
    ddl: true,
  },
  {
    name: "enum values at the front and in the middle",
    changes: {
      status: t.enum(["new", "open", "mid", "mid2", "doing", "done"]).required().default("open"),
    },
    ddl: true,
  },
  { name: "an index", changes: { note: t.string().index() }, ddl: true },
  { name: "a unique constraint", changes: { note: t.string().unique() }, ddl: true },
  {
    name: "a composite unique",
    lists: {
      uniques: [
        ["title", "note"],
        ["code", "note"],
      ],
    },
    ddl: true,
  },
  { name: "optional to required", changes: { note: t.string().required() }, ddl: true },
  { name: "required to optional", changes: { title: t.string().index() }, ddl: true },
  { name: "another default", changes: { amount: t.decimal().default("2") }, ddl: true },
  {
    name: "a rule for updates",
    changes: { created_at: t.timestamp().required().default("now").onUpdate("now") },
    expected: ".created_at on updates",
    makesFunctions: true,
  },
  {
    name: "a rule for updates removed",
    changes: { updated_at: t.timestamp().required().default("now") },
    expected: "no longer set ",
    makesFunctions: true,
  },
  { name: "a reference", changes: { extra: t.ref("OTHER") }, ddl: true },
  {
    name: "a column removed",
    changes: { note: undefined },
    lists: { indexes: [], uniques: [] },
    expected: "KEPT",
    status: "unchanged",
  },
  {
    name: "an index removed",
    changes: { title: t.string().required() },
    expected: "KEPT",
    status: "unchanged",
  },
  { name: "another order of columns", order: "reversed", status: "unchanged" },
  {
    name: "a required column without a default",
    changes: { extra: t.string().required() },
    blames: ["extra"],
    expected: "default",
  },
  {
    name: "a required column without default removed",
    changes: { title: undefined },
    lists: { uniques: [] },
    blames: ["title"],
    expected: "every create",
  },
  {
    name: "another type",
    changes: { note: t.number() },
    blames: ["note"],
    expected: "The schema declares number, but the table has string",
  },
  { name: "another reference target", changes: { friend: t.ref("SELF") }, blames: ["friend"] },
  {
    name: "an onDelete",
    changes: { friend: t.ref("OTHER", { onDelete: "cascade" }) },
    expected: ".friend to cascade",
    ddl: true,
  },
  {
    name: "another onDelete",
    changes: { parent: t.ref("OTHER", citusUrl() === undefined ? { onDelete: "set null" } : {}) },
    expected: "change onDelete of ",
    ddl: true,
  },
  {
    name: "an onDelete removed",
    changes: { parent: t.ref("OTHER") },
    expected: ".parent to none",
    ddl: true,
  },
  {
    name: "an enum value removed",
    changes: { status: t.enum(["open", "done"]).required().default("open") },
    blames: ["status"],
  },
  {
    name: "enum values in another order",
    changes: { status: t.enum(["done", "doing", "open"]).required().default("open") },
    blames: ["status"],
  },
  {
    name: "a new enum value as the default",
    changes: { status: t.enum(["open", "doing", "done", "late"]).required().default("late") },
    blames: ["status"],
    expected: "later push",
  },
  {
    name: "a column that differs from an existing column only in case",
    changes: { note: undefined, Note: t.string() },
    lists: { indexes: [], uniques: [] },
    blames: ["Note"],
    expected: "differs only in case",
  },
  {
    name: "more columns than the limit, including existing columns",
    changes: { note: undefined, ...manyColumns(191) },
    lists: { indexes: [], uniques: [] },
    blames: [""],
    expected: "limit of 200",
  },
];

const OWNER_SHARED: Case[] = [
  {
    name: "another onDelete",
    changes: { parent: t.ref("OTHER") },
    blames: ["parent"],
    expected: "keep it, because another app declares it",
  },
  {
    name: "a rule for updates",
    changes: { created_at: t.timestamp().required().default("now").onUpdate("now") },
    blames: ["created_at"],
    expected: "keep it, because another app declares it",
  },
  {
    name: "a rule for updates removed",
    changes: { updated_at: t.timestamp().required().default("now") },
    blames: ["updated_at"],
  },
  { name: "a nullable column", changes: { extra: t.string() }, ddl: true },
  {
    name: "a required column with a default",
    changes: { extra: t.number().required().default(7) },
    ddl: true,
  },
  { name: "an index", changes: { note: t.string().index() }, ddl: true },
  {
    name: "an enum value",
    changes: { status: t.enum(["open", "doing", "late", "done"]).required().default("open") },
    ddl: true,
  },
  {
    name: "a unique constraint",
    changes: { note: t.string().unique() },
    blames: [""],
    expected: "other apps",
  },
  {
    name: "a composite unique",
    lists: {
      uniques: [
        ["title", "note"],
        ["code", "note"],
      ],
    },
    blames: [""],
  },
  {
    name: "optional to required",
    changes: { note: t.string().required() },
    blames: ["note", "note"],
  },
  { name: "required to optional", changes: { title: t.string().index() }, blames: ["title"] },
  {
    name: "another default",
    changes: { amount: t.decimal().default("2") },
    blames: ["amount"],
    expected: "another app declares it",
  },
  {
    name: "a default of a unique column",
    changes: { code: t.string().unique().default("x") },
    blames: ["code", "code"],
    expected: "a unique constraint on this column",
  },
  {
    name: "a default of a column in a composite unique",
    changes: { note: t.string().default("x") },
    blames: ["note", "note"],
    expected: "a unique constraint on this column",
  },
  {
    name: "a column removed",
    changes: { note: undefined },
    lists: { indexes: [], uniques: [] },
    expected: "KEPT",
    status: "unchanged",
  },
];

/** An app without a declaration of the table gets only the conflicting parts of its own declaration. */
const STRANGER = OTHER_APP.map((row) => {
  if (row.blames === undefined) return row;
  const isLeftOut = (column: string) =>
    row.changes !== undefined && column in row.changes && row.changes[column] === undefined;
  const columns = new Set(row.blames.filter((column) => column !== "" && !isLeftOut(column)));
  const tables = row.blames.filter((column) => column === "" || isLeftOut(column));
  const blames = [...columns, ...tables.map(() => "")];
  const isMissing = row.expected?.includes("the table's owner") === true;
  const expected = isMissing
    ? row.expected
    : "which does not fit the table: declare it as its owner";
  return { ...row, blames, expected };
});
const USER = OTHER_APP.filter(({ blames }) => blames !== undefined);

for (const [pusherName, cases] of [
  ["another app", STRANGER],
  ["an app that uses it", USER],
  ["the owner of an unshared table", OWNER_UNSHARED],
  ["the owner of a shared table", OWNER_SHARED],
] as const) {
  describeOpen(`a push by ${pusherName} has the expected result for`, () => {
    test.each(cases)("$name", async (row) => {
      const [self, other] = [freshName("self"), freshName("other")];
      const named = (changes: Record<string, unknown> = {}) => rename(changes, { self, other });
      const schema = (changes?: Record<string, unknown>, lists?: Lists) =>
        defineSchema({
          [self]: table(other, named(changes), lists),
          [other]: { name: t.string() },
        });
      const owner = await service.makeApp(schema());
      const second =
        pusherName === "the owner of an unshared table"
          ? undefined
          : await service.makeApp(pusherName === "another app" ? undefined : schema());
      const isOwner =
        pusherName === "the owner of an unshared table" ||
        pusherName === "the owner of a shared table";
      const pusher = isOwner ? owner : (second ?? owner);
      const before = await dumpDatabase(service.service.admin);

      const response = await postSchema(
        service,
        pusher,
        schema(row.changes, { ...row.lists, order: row.order }),
      );

      if (row.expected !== undefined) expect(response.text).toContain(row.expected);
      if (row.blames === undefined) {
        expect(response.text).toContain(`"status":"${row.status ?? "applied"}"`);
        // An index of a shared table is built after the push. Wait for its end: it would change the comparison of the
        // next test.
        await eventually(async () => {
          const dump = await dumpDatabase(service.service.admin);
          return isBuilt(dump) && (row.ddl !== true || tablesOf(dump) !== tablesOf(before));
        });
        const after = await dumpDatabase(service.service.admin);
        if (row.ddl !== true) expect(tablesOf(after)).toBe(tablesOf(before));
        const makesFunctions = row.ddl === true || row.makesFunctions === true;
        if (!makesFunctions) expect(functionsOf(after)).toBe(functionsOf(before));
        const again = await postSchema(
          service,
          pusher,
          schema(row.changes, { ...row.lists, order: row.order }),
        );
        expect(again.json).toMatchObject({ status: "unchanged", migration: null, steps: [] });
        return;
      }
      expect(response.status).toBe(409);
      const body = response.json as { error: string; details: { path: string; message: string }[] };
      expect(body.error).toBe("incompatible_schema");
      expect(body.details.map((detail) => detail.path).sort()).toEqual(
        row.blames.map((column) => (column === "" ? `/${self}` : `/${self}/${column}`)).sort(),
      );
      for (const { message } of body.details) {
        expect(message).toMatch(
          /^The schema (declares .+, (but the table has .+|which does not fit the table|which the table's owner .+ does not declare)(: .+)?|does not declare .+: declare it again, or drop each value .+)$/,
        );
        if (pusherName === "another app") expect(message).not.toContain("the table has");
        if (isOwner && second !== undefined) expect(message).not.toContain(second.slug);
      }
      if (!isOwner) expect(body.details[0]?.message).toContain(owner.slug);
      const remedies = body.details.flatMap(({ message }) => /: (.+)$/.exec(message)?.[1] ?? []);
      expect(remedies).not.toBeEmpty();
      expect(new Set(remedies).size).toBe(remedies.length);
      expect(await dumpDatabase(service.service.admin)).toBe(before);
    });
  });
}

describeOpen("a push of index and unique lines", () => {
  test("ignores the order of the lines, and applies the order of the columns in an index", async () => {
    const self = freshName();
    const columns = { a: t.string(), b: t.string(), c: t.string() };
    const model = () => t.model(columns);
    const app = await service.makeApp(
      defineSchema({
        [self]: model().index("a", "b").index("b", "c").unique("a", "c").unique("c", "b"),
      }),
    );
    const before = await dumpDatabase(service.service.admin);

    const moved = await postSchema(
      service,
      app,
      defineSchema({
        [self]: model().unique("c", "b").index("b", "c").unique("a", "c").index("a", "b"),
      }),
    );

    expect(moved.json).toMatchObject({ status: "unchanged", migration: null, steps: [] });
    expect(await dumpDatabase(service.service.admin)).toBe(before);
    const added = await postSchema(
      service,
      app,
      defineSchema({
        [self]: model()
          .index("b", "a")
          .index("a", "b")
          .index("b", "c")
          .unique("a", "c")
          .unique("c", "b"),
      }),
    );
    expect(added.json).toMatchObject({ status: "applied", steps: [`add index (b, a) to ${self}`] });
  });
});

function manyColumns(count: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`many${n}`, t.boolean()]));
}

/** Replaces the references to OTHER and SELF with the tables of this case. */
function rename(changes: Record<string, unknown>, names: { self: string; other: string }) {
  return Object.fromEntries(
    Object.entries(changes).map(([name, value]) => {
      const column = (
        value as { column?: { kind: string; table?: string; onDelete?: OnDelete } } | undefined
      )?.column;
      if (column?.kind !== "ref") return [name, value];
      const target = column.table === "SELF" ? names.self : names.other;
      return [
        name,
        t.ref(target, column.onDelete === undefined ? {} : { onDelete: column.onDelete }),
      ];
    }),
  );
}

/** Returns whether every deferred step is done. */
function isBuilt(dump: string): boolean {
  const steps = (JSON.parse(dump) as ({ state: string }[] | null)[])[DEFERRED_STEPS];
  return (steps ?? []).every(({ state }) => state === "done");
}

const DEFERRED_STEPS = 3;

/** Returns the part of a dump that describes tables. */
function tablesOf(dump: string): string {
  const parts = (JSON.parse(dump) as unknown[]).slice(5);
  return JSON.stringify(parts.filter((_, index) => index !== FUNCTIONS));
}

/** Returns the part of a dump that describes functions. */
function functionsOf(dump: string): string {
  return JSON.stringify((JSON.parse(dump) as unknown[]).slice(5)[FUNCTIONS]);
}

const FUNCTIONS = 4;
