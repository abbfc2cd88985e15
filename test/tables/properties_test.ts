/** Properties of every pair of schemas: random schemas from fast-check are planned in memory and pushed to a database. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { Problem } from "../../src/problem.ts";
import { type Definition, readDefinition } from "../../src/schema/mod.ts";
import { planPush, readDrift } from "../../src/tables/mod.ts";
import { advanceState } from "../../src/tables/plan/advanced_state.ts";
import { findDifferences } from "../../src/tables/plan/compare.ts";
import type { PushState } from "../../src/tables/state.ts";
import { dumpDatabase, readDeclared } from "../support/push.ts";
import { pushDefinition } from "../support/push_steps.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";
import { countRuns, drawRuns } from "../support/tier.ts";

const VALUES = ["open", "doing", "done", "it's"];
const NAMES = ["aa", "bb", "cc", "dd"];
const flags = { required: fc.boolean(), unique: fc.boolean(), index: fc.boolean() };

const column = fc.oneof(
  fc.record({
    kind: fc.constant("string" as const),
    ...flags,
    default: fc.option(fc.constantFrom("x", "'\\"), { nil: undefined }),
  }),
  fc.record({
    kind: fc.constant("number" as const),
    ...flags,
    default: fc.option(fc.constantFrom(1, 2.5), { nil: undefined }),
  }),
  fc.record({
    kind: fc.constant("timestamp" as const),
    ...flags,
    default: fc.option(fc.constant("now"), { nil: undefined }),
  }),
  fc.record({
    kind: fc.constant("integer" as const),
    ...flags,
    default: fc.option(fc.constantFrom(0, -7), { nil: undefined }),
  }),
  fc.record({
    kind: fc.constant("date" as const),
    ...flags,
    default: fc.option(fc.constantFrom("today", "2026-01-31"), { nil: undefined }),
  }),
  fc
    .record({
      kind: fc.constant("enum" as const),
      ...flags,
      values: fc.subarray(VALUES, { minLength: 1 }),
      default: fc.option(fc.constant("open"), { nil: undefined }),
    })
    .map((column) => (column.values.includes("open") ? column : { ...column, default: undefined })),
  fc
    .record({
      kind: fc.constant("ref" as const),
      ...flags,
      table: fc.constantFrom("one", "two"),
      default: fc.constant(undefined),
    })
    .map((column) => ({ ...column, index: false })),
);
const table = fc.record({
  columns: fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), column), {
    selector: ([name]) => name,
    minLength: 1,
  }),
  indexes: fc.subarray([
    ["aa", "bb"],
    ["bb", "cc"],
  ]),
  uniques: fc.subarray([
    ["cc", "dd"],
    ["dd", "aa"],
  ]),
});

/** Returns any definition of the tables `one` and `two` that passes the service's validation. */
function definitions(prefix: string): fc.Arbitrary<Definition> {
  return fc.tuple(table, table).map(([first, second]) => {
    const read = readDefinition({
      version: 1,
      tables: [toTable("one", first), toTable("two", second)],
    });
    if ("issues" in read) throw new Error(JSON.stringify(read.issues));
    return read.definition;
  });

  function toTable(
    name: string,
    drawn: { columns: [string, object][]; indexes: string[][]; uniques: string[][] },
  ) {
    const columns = drawn.columns.map(([columnName, drawnColumn]) => {
      const entries = Object.entries({ name: columnName, ...drawnColumn }).filter(
        ([, value]) => value !== undefined,
      );
      const column = Object.fromEntries(entries) as Record<string, unknown>;
      return column["kind"] === "ref"
        ? { ...column, table: prefix + String(column["table"]) }
        : column;
    });
    const has = (list: string[]) =>
      list.every((name) => columns.some((column) => column["name"] === name));
    return {
      name: prefix + name,
      columns,
      indexes: drawn.indexes.filter(has),
      uniques: drawn.uniques.filter(has),
    };
  }
}

/** Returns a later definition that an owner is probably allowed to push: the previous columns and the drawn additions. */
function grow(before: Definition | undefined, drawn: Definition): Definition {
  if (before === undefined) return drawn;
  const tables = before.tables.map((table, index) => {
    const names = new Set(table.columns.map(({ name }) => name));
    const more = drawn.tables[index] ?? table;
    const columns = [...table.columns, ...more.columns.filter(({ name }) => !names.has(name))];
    const lists = (key: "indexes" | "uniques") => [
      ...new Map([...table[key], ...more[key]].map((list) => [list.join(), list])).values(),
    ];
    return { ...table, columns, indexes: lists("indexes"), uniques: lists("uniques") };
  });
  const read = readDefinition({ version: 1, tables });
  return "definition" in read ? read.definition : drawn;
}

const EMPTY: PushState = {
  tables: [],
  migrations: [],
  head: undefined,
  journalBytes: 0,
  unheard: [],
  hasDeferredSteps: false,
  people: { isOpen: true, roles: [] },
  dialect: "plain",
};

const applyPlan = (state: PushState, app: string, plan: ReturnType<typeof planPush>) =>
  advanceState(state, { id: app, slug: app }, plan);

const pushes = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), definitions(""), fc.boolean()), {
  minLength: 1,
  maxLength: 8,
});

test("an accepted plan is idempotent, reads back as declared, and breaks no registration", () => {
  let accepted = 0;
  fc.assert(
    fc.property(pushes, (sequence) => {
      let state = EMPTY;
      let last: Definition | undefined;
      for (const [app, drawn, isGrown] of sequence) {
        const definition = isGrown ? grow(last, drawn) : drawn;
        const plan = planPush(app, definition, state);
        if (plan.conflicts.length > 0) continue;
        accepted++;
        last = definition;
        state = applyPlan(state, app, plan);
        expect(planPush(app, definition, state)).toMatchObject({ steps: [], conflicts: [] });
        const uses = state.tables.flatMap(({ uses: all }) =>
          all.filter((use) => use.appId === app),
        );
        for (const declared of definition.tables) {
          const use = uses.find(({ definition: used }) => used.name === declared.name);
          expect(use && findDifferences(declared, use.definition)).toEqual([]);
        }
        for (const found of state.tables)
          for (const use of found.uses)
            if (use.appId !== found.ownerAppId)
              expect(findDifferences(use.definition, found.definition)).toEqual([]);
      }
    }),
    drawRuns(400),
  );
  expect(accepted).toBeGreaterThan(countRuns(200));
}, 60_000);

test("plan(a, a) is empty, regardless of the tables' owner", () => {
  fc.assert(
    fc.property(definitions(""), (definition) => {
      const owned = applyPlan(EMPTY, "a", planPush("a", definition, EMPTY));
      const shared = applyPlan(owned, "b", planPush("b", definition, owned));
      for (const app of ["a", "b"])
        expect(planPush(app, definition, shared)).toEqual({ steps: [], conflicts: [], notes: [] });
    }),
    drawRuns(300),
  );
});

const service = await share(openTestService());

test("PostgreSQL has the recorded schema after a push, a rejected push leaves no trace, and a repeated push changes nothing", async () => {
  const { admin } = service.service;
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.constant(0)), fc.gen(), async (_, draw) => {
      const prefix = `r${run++}_`;
      const apps = [await service.makeApp(), await service.makeApp()] as const;
      let last: Definition | undefined;
      for (let turn = 0; turn < 4; turn++) {
        const app: TestApp = draw(fc.constantFrom, ...apps) as TestApp;
        const drawn = draw(definitions, prefix) as Definition;
        const definition = draw(fc.boolean) ? grow(last, drawn) : drawn;
        const before = await dumpDatabase(admin);
        const request = { app, definition, options: { dryRun: false } };
        const result = await pushDefinition({ admin, log: () => undefined }, request).catch(
          (error) => {
            expect(error).toBeInstanceOf(Problem);
            expect(error).toMatchObject({ code: "incompatible_schema" });
            return undefined;
          },
        );
        if (result === undefined) {
          expect(await dumpDatabase(admin)).toBe(before);
          continue;
        }
        last = definition;
        // Indexes of a table that both apps use are built after the push.
        await result.deferred;
        const after = await dumpDatabase(admin);
        const { deferred, ...second } = await pushDefinition(
          { admin, log: () => undefined },
          request,
        );
        await deferred;
        expect(second).toMatchObject({ status: "unchanged", steps: [] });
        expect(await dumpDatabase(admin)).toBe(after);
        expect(await readDrift(admin)).toEqual([]);
        const recorded = await readDeclared(admin, app);
        for (const declared of definition.tables) {
          const use = recorded.find(({ name }) => name === declared.name);
          expect(use && findDifferences(declared, use)).toEqual([]);
        }
      }
    }),
    drawRuns(20),
  );
});
