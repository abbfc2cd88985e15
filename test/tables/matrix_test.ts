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

type More = Pick<Case, "lists" | "expected">;

/** A push that is applied, and changes neither tables nor functions. */
const fits = (name: string, changes = {}, more: More = {}): Case => ({ name, changes, ...more });
/** A push that creates new functions. */
const rebuilds = (name: string, changes = {}, more: More = {}): Case => ({
  ...fits(name, changes, more),
  makesFunctions: true,
});
/** A push that can change PostgreSQL's tables. */
const alters = (name: string, changes = {}, more: More = {}): Case => ({
  ...fits(name, changes, more),
  ddl: true,
});
/** A push that is rejected. Its details name the columns `blamed`, or "" for the table. */
function conflict(
  name: string,
  blamed: string,
  expected: string,
  changes = {},
  lists: Lists = {},
): Case {
  return { name, blames: blamed.split(","), expected, changes, lists };
}

const OTHER_APP: Case[] = [
  fits("the identical declaration"),
  rebuilds(
    "without a nullable column",
    { note: undefined },
    { lists: { indexes: [], uniques: [] } },
  ),
  rebuilds("without a column that has a default", { amount: undefined }),
  rebuilds("without a required column that has a default", { created_at: undefined }),
  fits("fewer enum values in the same order", {
    status: t.enum(["open", "done"]).required().default("open"),
  }),
  fits("without an index", { title: t.string().required() }, { lists: { indexes: [] } }),
  fits("without a unique", { code: t.string() }, { lists: { uniques: [] } }),
  fits("another json shape", { shape: t.json<string[]>() }),
  { name: "another order of columns", order: "reversed" },
  rebuilds("without a reference", { parent: undefined }),
  conflict(
    "without a required column that has no default",
    "title",
    "required column without a default",
    { title: undefined },
    { uniques: [] },
  ),
  conflict("an extra nullable column", "extra", "this column, which the table's owner", {
    extra: t.string(),
  }),
  conflict("an extra index", "", "an index on (note)", { note: t.string().index() }),
  conflict(
    "an extra composite index",
    "",
    "an index on (title, status)",
    {},
    { indexes: [["title", "status"]] },
  ),
  conflict(
    "an index in another order",
    "",
    "an index on (note, status)",
    {},
    { indexes: [["note", "status"]] },
  ),
  conflict("an extra unique", "", "a unique constraint on (note)", { note: t.string().unique() }),
  conflict(
    "an extra composite unique",
    "",
    "a unique constraint on (title, status)",
    {},
    { uniques: [["title", "status"]] },
  ),
  conflict("another type", "note", "The schema declares number, but the table has string", {
    note: t.number(),
  }),
  conflict("decimal instead of number", "amount,amount", "", { amount: t.number().default(1.5) }),
  conflict(
    "optional instead of required",
    "title",
    "The schema declares an optional column, but the table has a required column",
    { title: t.string().index() },
  ),
  conflict(
    "required instead of optional",
    "note",
    "The schema declares a required column, but the table has an optional column",
    { note: t.string().required() },
  ),
  conflict("another default", "amount", "default", { amount: t.decimal().default("2") }),
  conflict("no default instead of a default", "amount", "The schema declares no default", {
    amount: t.decimal(),
  }),
  conflict("a default instead of no default", "note", "", { note: t.string().default("x") }),
  conflict("a reference without onDelete", "parent", "onDelete", { parent: t.ref("OTHER") }),
  conflict("a reference with onDelete", "friend", "", {
    friend: t.ref("OTHER", { onDelete: "cascade" }),
  }),
  conflict(
    "set null instead of cascade",
    "parent",
    "onDelete set null, but the table has onDelete cascade",
    { parent: t.ref("OTHER", { onDelete: "set null" }) },
  ),
  conflict("a time without the rule for updates", "updated_at", "The schema declares no onUpdate", {
    updated_at: t.timestamp().required().default("now"),
  }),
  conflict("a time with a rule for updates", "created_at", "The schema declares onUpdate now", {
    created_at: t.timestamp().required().default("now").onUpdate("now"),
  }),
  conflict("a reference to another table", "friend", "ref(", { friend: t.ref("SELF") }),
  conflict("uuid instead of a reference", "friend", "", { friend: t.uuid() }),
  conflict("an enum value that the table lacks", "status", "late", {
    status: t.enum(["open", "doing", "done", "late"]).required().default("open"),
  }),
  conflict("enum values in another order", "status", "", {
    status: t.enum(["doing", "open"]).required().default("open"),
  }),
  conflict(
    "five conflicts together",
    ",amount,extra,note,title",
    "",
    { title: undefined, note: t.number(), extra: t.boolean(), amount: t.decimal() },
    { indexes: [], uniques: [["code", "status"]] },
  ),
];

const OWNER_UNSHARED: Case[] = [
  alters("a nullable column", { extra: t.string() }),
  alters("a required column with a default", { extra: t.number().required().default(7) }),
  alters(
    "a required column with default now",
    { extra: t.timestamp().required().default("now") },
    { expected: "time of this push" },
  ),
  alters("an enum value at the end", {
    status: t.enum(["open", "doing", "done", "late"]).required().default("open"),
  }),
  alters("enum values at the front and in the middle", {
    status: t.enum(["new", "open", "mid", "mid2", "doing", "done"]).required().default("open"),
  }),
  alters("an index", { note: t.string().index() }),
  alters("a unique constraint", { note: t.string().unique() }),
  alters(
    "a composite unique",
    {},
    {
      lists: {
        uniques: [
          ["title", "note"],
          ["code", "note"],
        ],
      },
    },
  ),
  alters("optional to required", { note: t.string().required() }),
  alters("required to optional", { title: t.string().index() }),
  alters("another default", { amount: t.decimal().default("2") }),
  rebuilds(
    "a rule for updates",
    { created_at: t.timestamp().required().default("now").onUpdate("now") },
    { expected: ".created_at on updates" },
  ),
  rebuilds(
    "a rule for updates removed",
    { updated_at: t.timestamp().required().default("now") },
    { expected: "no longer set " },
  ),
  alters("a reference", { extra: t.ref("OTHER") }),
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
  conflict("a required column without a default", "extra", "default", {
    extra: t.string().required(),
  }),
  conflict(
    "a required column without default removed",
    "title",
    "every create",
    { title: undefined },
    { uniques: [] },
  ),
  conflict("another type", "note", "The schema declares number, but the table has string", {
    note: t.number(),
  }),
  conflict("another reference target", "friend", "", { friend: t.ref("SELF") }),
  alters(
    "an onDelete",
    { friend: t.ref("OTHER", { onDelete: "cascade" }) },
    { expected: ".friend to cascade" },
  ),
  alters(
    "another onDelete",
    { parent: t.ref("OTHER", citusUrl() === undefined ? { onDelete: "set null" } : {}) },
    { expected: "change onDelete of " },
  ),
  alters("an onDelete removed", { parent: t.ref("OTHER") }, { expected: ".parent to none" }),
  conflict("an enum value removed", "status", "", {
    status: t.enum(["open", "done"]).required().default("open"),
  }),
  conflict("enum values in another order", "status", "", {
    status: t.enum(["done", "doing", "open"]).required().default("open"),
  }),
  conflict("a new enum value as the default", "status", "later push", {
    status: t.enum(["open", "doing", "done", "late"]).required().default("late"),
  }),
  conflict(
    "a column that differs from an existing column only in case",
    "Note",
    "differs only in case",
    { note: undefined, Note: t.string() },
    { indexes: [], uniques: [] },
  ),
  conflict(
    "more columns than the limit, including existing columns",
    "",
    "limit of 200",
    { note: undefined, ...manyColumns(191) },
    { indexes: [], uniques: [] },
  ),
];

const OWNER_SHARED: Case[] = [
  conflict("another onDelete", "parent", "keep it, because another app declares it", {
    parent: t.ref("OTHER"),
  }),
  conflict("a rule for updates", "created_at", "keep it, because another app declares it", {
    created_at: t.timestamp().required().default("now").onUpdate("now"),
  }),
  conflict("a rule for updates removed", "updated_at", "", {
    updated_at: t.timestamp().required().default("now"),
  }),
  alters("a nullable column", { extra: t.string() }),
  alters("a required column with a default", { extra: t.number().required().default(7) }),
  alters("an index", { note: t.string().index() }),
  alters("an enum value", {
    status: t.enum(["open", "doing", "late", "done"]).required().default("open"),
  }),
  conflict("a unique constraint", "", "other apps", { note: t.string().unique() }),
  conflict(
    "a composite unique",
    "",
    "",
    {},
    {
      uniques: [
        ["title", "note"],
        ["code", "note"],
      ],
    },
  ),
  conflict("optional to required", "note,note", "", { note: t.string().required() }),
  conflict("required to optional", "title", "", { title: t.string().index() }),
  conflict("another default", "amount", "another app declares it", {
    amount: t.decimal().default("2"),
  }),
  conflict("a default of a unique column", "code,code", "a unique constraint on this column", {
    code: t.string().unique().default("x"),
  }),
  conflict(
    "a default of a column in a composite unique",
    "note,note",
    "a unique constraint on this column",
    { note: t.string().default("x") },
  ),
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
