/** Declarations over an existing table by its owner and by another app. Each case is a row. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { OnDelete } from "../../src/kinds/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { cases } from "../support/cases.ts";
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

const COLUMNS =
  toColumns(`title string required index; status enum(open,doing,done) required default=open;
  note string; code string unique; parent ref(OTHER,cascade); friend ref(OTHER); shape json;
  created_at timestamp required default=now; updated_at timestamp required default=now onUpdate;
  amount decimal default=1.50`);

/** Columns by name, from `note string required; code -`, where `-` leaves one out. */
function toColumns(text: string): Readonly<Record<string, string | undefined>> {
  const parts = text.split(";").map((part) => part.trim());
  const named = parts
    .filter(Boolean)
    .map((part) => [part.split(" ")[0], part.replace(/^\S+ /, "")]);
  return Object.fromEntries(named.map(([name, spec]) => [name, spec === "-" ? undefined : spec]));
}

type Column = ReturnType<typeof t.string>;
type Names = { readonly self: string; readonly other: string };

function toColumn(spec: string, { self, other }: Names): Column {
  const [kind = "", ...modifiers] = spec.match(/\w+(?:\([^)]*\)|=\S+)?/g) ?? [];
  const [, name = "", list = ""] = /^(\w+)(?:\((.*)\))?$/.exec(kind) ?? [];
  const [first = "", ...rest] = list.split(",");
  const onDelete = rest[0] as OnDelete | undefined;
  const target = first === "SELF" ? self : other;
  let column = (
    name === "enum"
      ? t.enum([first, ...rest])
      : name === "ref"
        ? t.ref(target, onDelete === undefined ? {} : { onDelete })
        : t[name as "string"]()
  ) as Column;
  for (const modifier of modifiers) {
    const [word = "", value = ""] = modifier.split("=");
    const initial = name === "number" ? Number(value) : value;
    const given = { default: [initial], onUpdate: ["now"] }[word] ?? [];
    column = Reflect.apply(Reflect.get(column, word), column, given);
  }
  return column;
}

/** The existing table, or a variant. `lists`: `indexes=a+b,c+d`, `uniques=a+b` or `reversed`. */
function table(names: Names, changes = "", lists = "") {
  const declared = Object.entries({ ...COLUMNS, ...toColumns(changes) }).flatMap(([name, spec]) =>
    spec === undefined ? [] : [[name, toColumn(spec, names)] as const],
  );
  if (lists === "reversed") declared.reverse();
  const listOf = (kind: string, usual: string) =>
    (new RegExp(`${kind}=(\\S*)`).exec(lists)?.[1] ?? usual).split(",").filter(Boolean);
  let model = t.model(Object.fromEntries(declared));
  for (const list of listOf("indexes", "status+note")) model = model.index(...toNames(list));
  for (const list of listOf("uniques", "title+note")) model = model.unique(...toNames(list));
  return model;
}
const toNames = (list: string) => list.split("+") as [string];

/**
 * A push is applied, and changes neither tables nor functions (`fits`), makes functions (`rebuilds`) or changes tables (`alters`); is
 * `unchanged`; or is a `conflict`, whose details name the blamed columns, or "" for the table.
 */
const tableOf = cases("outcome", "name", "blames", "expected", "changes", "lists");
type Case = ReturnType<typeof tableOf>[number];

const OTHER_APP = tableOf`
  fits     | the identical declaration
  rebuilds | without a nullable column | | | note - | indexes= uniques=
  rebuilds | without a column that has a default | | | amount -
  rebuilds | without a required column that has a default | | | created_at -
  fits     | fewer enum values in the same order | | | status enum(open,done) required default=open
  fits     | without an index | | | title string required | indexes=
  fits     | without a unique | | | code string | uniques=
  fits     | another json shape | | | shape json
  fits     | another order of columns | | | | reversed
  rebuilds | without a reference | | | parent -
  conflict | without a required column that has no default | title | required column without a default | title - | uniques=
  conflict | an extra nullable column | extra | this column, which the table's owner | extra string
  conflict | an extra index | | an index on (note) | note string index
  conflict | an extra composite index | | an index on (title, status) | | indexes=title+status
  conflict | an index in another order | | an index on (note, status) | | indexes=note+status
  conflict | an extra unique | | a unique constraint on (note) | note string unique
  conflict | an extra composite unique | | a unique constraint on (title, status) | | uniques=title+status
  conflict | another type | note | The schema declares number, but the table has string | note number
  conflict | decimal instead of number | amount,amount | | amount number default=1.5
  conflict | optional instead of required | title | The schema declares an optional column, but the table has a required column | title string index
  conflict | required instead of optional | note | The schema declares a required column, but the table has an optional column | note string required
  conflict | another default | amount | default | amount decimal default=2
  conflict | no default instead of a default | amount | The schema declares no default | amount decimal
  conflict | a default instead of no default | note | | note string default=x
  conflict | a reference without onDelete | parent | onDelete | parent ref(OTHER)
  conflict | a reference with onDelete | friend | | friend ref(OTHER,cascade)
  conflict | set null instead of cascade | parent | onDelete set null, but the table has onDelete cascade | parent ref(OTHER,set null)
  conflict | a time without the rule for updates | updated_at | The schema declares no onUpdate | updated_at timestamp required default=now
  conflict | a time with a rule for updates | created_at | The schema declares onUpdate now | created_at timestamp required default=now onUpdate
  conflict | a reference to another table | friend | ref( | friend ref(SELF)
  conflict | uuid instead of a reference | friend | | friend uuid
  conflict | an enum value that the table lacks | status | late | status enum(open,doing,done,late) required default=open
  conflict | enum values in another order | status | | status enum(doing,open) required default=open
  conflict | five conflicts together | ,amount,extra,note,title | | title -; note number; extra boolean; amount decimal | indexes= uniques=code+status
`;

const MANY = Array.from({ length: 191 }, (_, n) => `many${n} boolean`).join("; ");
const OTHER_ON_DELETE = citusUrl() === undefined ? "OTHER,set null" : "OTHER";

const OWNER_UNSHARED = tableOf`
  alters    | a nullable column | | | extra string
  alters    | a required column with a default | | | extra number required default=7
  alters    | a required column with default now | | time of this push | extra timestamp required default=now
  alters    | an enum value at the end | | | status enum(open,doing,done,late) required default=open
  alters    | enum values at the front and in the middle | | | status enum(new,open,mid,mid2,doing,done) required default=open
  alters    | an index | | | note string index
  alters    | a unique constraint | | | note string unique
  alters    | a composite unique | | | | uniques=title+note,code+note
  alters    | optional to required | | | note string required
  alters    | required to optional | | | title string index
  alters    | another default | | | amount decimal default=2
  rebuilds  | a rule for updates | | .created_at on updates | created_at timestamp required default=now onUpdate
  rebuilds  | a rule for updates removed | | no longer set${" "} | updated_at timestamp required default=now
  alters    | a reference | | | extra ref(OTHER)
  unchanged | a column removed | | KEPT | note - | indexes= uniques=
  unchanged | an index removed | | KEPT | title string required
  unchanged | another order of columns | | | | reversed
  conflict  | a required column without a default | extra | default | extra string required
  conflict  | a required column without default removed | title | every create | title - | uniques=
  conflict  | another type | note | The schema declares number, but the table has string | note number
  conflict  | another reference target | friend | | friend ref(SELF)
  alters    | an onDelete | | .friend to cascade | friend ref(OTHER,cascade)
  alters    | another onDelete | | change onDelete of | parent ref(${OTHER_ON_DELETE})
  alters    | an onDelete removed | | .parent to none | parent ref(OTHER)
  conflict  | an enum value removed | status | | status enum(open,done) required default=open
  conflict  | enum values in another order | status | | status enum(done,doing,open) required default=open
  conflict  | a new enum value as the default | status | later push | status enum(open,doing,done,late) required default=late
  conflict  | a column that differs from an existing column only in case | Note | differs only in case | note -; Note string | indexes= uniques=
  conflict  | more columns than the limit, including existing columns | | limit of 200 | note -; ${MANY} | indexes= uniques=
`;

const OWNER_SHARED = tableOf`
  conflict  | another onDelete | parent | keep it, because another app declares it | parent ref(OTHER)
  conflict  | a rule for updates | created_at | keep it, because another app declares it | created_at timestamp required default=now onUpdate
  conflict  | a rule for updates removed | updated_at | | updated_at timestamp required default=now
  alters    | a nullable column | | | extra string
  alters    | a required column with a default | | | extra number required default=7
  alters    | an index | | | note string index
  alters    | an enum value | | | status enum(open,doing,late,done) required default=open
  conflict  | a unique constraint | | other apps | note string unique
  conflict  | a composite unique | | | | uniques=title+note,code+note
  conflict  | optional to required | note,note | | note string required
  conflict  | required to optional | title | | title string index
  conflict  | another default | amount | another app declares it | amount decimal default=2
  conflict  | a default of a unique column | code,code | a unique constraint on this column | code string unique default=x
  conflict  | a default of a column in a composite unique | note,note | a unique constraint on this column | note string default=x
  unchanged | a column removed | | KEPT | note - | indexes= uniques=
`;

/** An app without a declaration of the table gets only the conflicting parts of its own declaration. */
const STRANGER = OTHER_APP.map((row): Case => {
  if (row.outcome !== "conflict") return row;
  const changes = toColumns(row.changes);
  const isLeftOut = (column: string) => column in changes && changes[column] === undefined;
  const blamed = row.blames.split(",");
  const columns = new Set(blamed.filter((column) => column !== "" && !isLeftOut(column)));
  const tables = blamed.filter((column) => column === "" || isLeftOut(column));
  const expected = row.expected.includes("the table's owner")
    ? row.expected
    : "which does not fit the table: declare it as its owner";
  return { ...row, blames: [...columns, ...tables.map(() => "")].join(","), expected };
});
const USER = OTHER_APP.filter(({ outcome }) => outcome === "conflict");

const PUSHERS = {
  "another app": STRANGER,
  "an app that uses it": USER,
  "the owner of an unshared table": OWNER_UNSHARED,
  "the owner of a shared table": OWNER_SHARED,
};
type Pusher = keyof typeof PUSHERS;

/** A table of an owner, for the push of a case. */
async function declare(pusherName: Pusher) {
  const [self, other] = [freshName("self"), freshName("other")];
  const schema = (...variant: string[]) =>
    defineSchema({ [self]: table({ self, other }, ...variant), [other]: { name: t.string() } });
  const owner = await service.makeApp(schema());
  const second =
    pusherName === "the owner of an unshared table"
      ? undefined
      : await service.makeApp(pusherName === "another app" ? undefined : schema());
  const isOwner = pusherName.startsWith("the owner");
  return { self, schema, owner, second, isOwner, pusher: isOwner ? owner : (second ?? owner) };
}

for (const [name, rows] of Object.entries(PUSHERS)) {
  const pusherName = name as Pusher;
  describeOpen(`a push by ${pusherName} has the expected result for`, () => {
    /** Conflicts change nothing, and what fits or rebuilds no table, so their cases share one. */
    let shared: Awaited<ReturnType<typeof declare>>;
    beforeAll(async () => {
      shared = await declare(pusherName);
    });
    const open = async (outcome: string) => {
      if (outcome === "conflict") return shared;
      const isShared = pusherName === "another app" && outcome !== "alters";
      return isShared ? { ...shared, pusher: await service.makeApp() } : await declare(pusherName);
    };

    test.each(rows)("$name", async ({ outcome, blames, expected, changes, lists }) => {
      const { self, schema, owner, second, isOwner, pusher } = await open(outcome);
      const before = await dumpDatabase(service.service.admin);

      const push = () => postSchema(service, pusher, schema(changes, lists));
      const response = await push();

      expect(response.text).toContain(expected);
      if (outcome !== "conflict") {
        const status = outcome === "unchanged" ? outcome : "applied";
        expect(response.text).toContain(`"status":"${status}"`);
        // An index of a shared table is built after the push. Wait for its end: it would change the comparison of the
        // next test.
        await eventually(async () => {
          const dump = await dumpDatabase(service.service.admin);
          return isBuilt(dump) && (outcome !== "alters" || tablesOf(dump) !== tablesOf(before));
        });
        const after = await dumpDatabase(service.service.admin);
        if (outcome !== "alters") expect(tablesOf(after)).toBe(tablesOf(before));
        if (outcome === "fits" || outcome === "unchanged")
          expect(functionsOf(after)).toBe(functionsOf(before));
        expect((await push()).json).toMatchObject({
          status: "unchanged",
          migration: null,
          steps: [],
        });
        return;
      }
      expect(response.status).toBe(409);
      const body = response.json as { error: string; details: { path: string; message: string }[] };
      expect(body.error).toBe("incompatible_schema");
      expect(body.details.map((detail) => detail.path).sort()).toEqual(
        blames
          .split(",")
          .map((column) => (column === "" ? `/${self}` : `/${self}/${column}`))
          .sort(),
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
