/** docs/push.md: the tests run every row of its tables of changes and of declarations. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Problem } from "../../src/problem.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { ROOT } from "../support/command.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

type Columns = Readonly<Record<string, object>>;
type Try = { before?: Columns | undefined; after: Columns };

const title = t.string();
const changed = t.timestamp().default("now");
const state = t.enum(["a", "b"]);
const project = t.ref("projects");
const cascade = t.ref("projects", { onDelete: "cascade" });
const cleared = t.ref("projects", { onDelete: "set null" });

/** The pushes that test each row, by its first cell. */
const TRIES: Readonly<Record<string, readonly Try[]>> = {
  "new table": [{ after: { title } }],
  "new optional column, or required one with a default": [
    { before: { title }, after: { title, n: t.number() } },
    { before: { title }, after: { title, n: t.number().required().default(1) } },
  ],
  "new required column without a default": [
    { before: { title }, after: { title, n: t.number().required() } },
  ],
  "optional column becomes required": [{ before: { title }, after: { title: title.required() } }],
  "required column becomes optional; default or `onUpdate` set, changed or removed": [
    { before: { title: title.required() }, after: { title } },
    { before: { title }, after: { title: title.default("x") } },
    { before: { title: title.default("x") }, after: { title: title.default("y") } },
    { before: { title: title.default("x") }, after: { title } },
    { before: { changed }, after: { changed: changed.onUpdate("now") } },
    { before: { changed: changed.onUpdate("now") }, after: { changed } },
  ],
  "new enum value, at any position": [
    { before: { state }, after: { state: t.enum(["a", "c", "b"]) } },
  ],
  "enum value removed or moved": [
    { before: { state }, after: { state: t.enum(["a"]) } },
    { before: { state }, after: { state: t.enum(["b", "a"]) } },
  ],
  "new index": [{ before: { title }, after: { title: title.index() } }],
  "new unique constraint": [{ before: { title }, after: { title: title.unique() } }],
  "column, index, unique constraint or table removed from the file": [
    { before: { title, state }, after: { title } },
    { before: { title: title.index() }, after: { title } },
    { before: { title: title.unique() }, after: { title } },
  ],
  "required column without a default removed from the file": [
    { before: { title, state: state.required() }, after: { title } },
  ],
  "another `onDelete` of a reference": [
    { before: { project }, after: { project: cascade } },
    { before: { project: cascade }, after: { project } },
    ...(citusUrl() === undefined
      ? [
          { before: { project: cascade }, after: { project: cleared } },
          { before: { project: cleared }, after: { project } },
        ]
      : []),
  ],
  "another type or reference": [
    { before: { title }, after: { title: t.number() } },
    { before: { project }, after: { project: t.ref("folders") } },
  ],
  "another name": [{ before: { title }, after: { name: title } }],
};

/** The owner's columns. */
const OWNERS = {
  title: title.required().default("x"),
  body: t.string().index(),
  state,
  project,
  changed,
  extra: t.json<{ a: 1 }>(),
};
const { body, extra } = OWNERS;
/** The declarations of another app that test each row, by its first cell. */
const DECLARATIONS: Readonly<Record<string, readonly Columns[]>> = {
  "the same columns, in any order": [
    OWNERS,
    { extra, project, changed, state, body, title: OWNERS.title },
  ],
  "fewer columns, if those left out are optional or have a default": [{ state }],
  "fewer enum values, in the same order; fewer indexes and unique constraints; another shape of a `t.json`":
    [{ state: t.enum(["b"]) }, { body: t.string() }, { extra: t.json<string>() }],
  "a column that the owner does not declare; another type, default, reference, `onDelete` or `onUpdate`; optional for required, or vice versa":
    [
      { own: t.number() },
      { body: t.number() },
      { title: title.required().default("y") },
      { changed: changed.onUpdate("now") },
      { project: t.ref("folders") },
      { project: t.ref("projects", { onDelete: "cascade" }) },
      { title: title.default("x") },
      { state: state.required() },
    ],
  "an index or unique constraint that the table does not have": [
    { state: state.index() },
    { state: state.unique() },
  ],
  "without a required column that has no default": [{ body }],
};

const page = readFileSync(join(ROOT, "docs/push.md"), "utf8");
const changes = readTable("| Change |").map(([change = "", unshared = "", shared = ""]) => ({
  change,
  unshared: toOutcome(unshared),
  shared: shared.startsWith("the same") ? toOutcome(unshared) : toOutcome(shared),
}));
const declarations = readTable("| Another app's declaration |").map(
  ([declaration = "", verdict = ""]) => ({ declaration, verdict: toOutcome(verdict) }),
);

const service = await share(openTestService());

test("the tests cover every row of the page's tables", () => {
  expect(changes.map(({ change }) => change)).toEqual(Object.keys(TRIES));
  expect(declarations.map(({ declaration }) => declaration)).toEqual(Object.keys(DECLARATIONS));
});

test.each(
  changes.flatMap((row) => (TRIES[row.change] ?? []).map((attempt) => ({ ...row, ...attempt }))),
)(
  "$change: $unshared for one app, $shared for a shared table",
  async ({ unshared, shared, before, after }) => {
    for (const [isShared, outcome] of [
      [false, unshared],
      [true, shared],
    ] as const) {
      if (isShared && before === undefined) continue;
      const [push, owner] = [makePush(before, after), await service.makeApp()];
      if (before !== undefined) await push(owner, before);
      if (before !== undefined && isShared) await push(await service.makeApp(), before);
      expect(await push(owner, after)).toBe(outcome);
    }
  },
);

test.each(
  declarations.flatMap((row) =>
    (DECLARATIONS[row.declaration] ?? []).map((declared) => ({ ...row, declared })),
  ),
)("$verdict for another app: $declaration", async ({ declaration, verdict, declared }) => {
  const isDemanding = declaration.startsWith("without");
  const owners = isDemanding ? { ...OWNERS, title: title.required() } : OWNERS;
  const push = makePush(owners, declared);
  await push(await service.makeApp(), owners);
  const outcome = await push(await service.makeApp(), declared);
  expect(outcome === "rejected" ? "rejected" : "accepted").toBe(verdict);
});

/** Returns the cells of the table that begins with this text. */
function readTable(head: string): string[][] {
  const [, rest = ""] = page.split(head);
  const [, body = ""] = (rest.split("\n\n")[0] ?? "").split(/\n\|[-|]+\|\n/);
  return body.split("\n").map((line) => line.replace(/^\| | ?\|$/g, "").split(" | "));
}

/** Returns the first word of a cell. */
function toOutcome(cell: string): string {
  return /^\w+/.exec(cell)?.[0] ?? "";
}

/**
 * Returns a function that pushes a table with some of these columns, under the same name each time, beside the tables to which they
 * refer. It returns the outcome.
 */
function makePush(
  ...all: readonly (Columns | undefined)[]
): (app: TestApp, columns: Columns) => Promise<string> {
  const name = makeName();
  const targets = ["projects", "folders"]
    .filter((target) => JSON.stringify(all).includes(`"${target}"`))
    .map((target) => ({ target, as: makeName() }));
  return async (app, columns) => {
    const text = targets.reduce(
      (now, { target, as }) => now.replace(`"${target}"`, JSON.stringify(as)),
      JSON.stringify(columns),
    );
    const tables = targets.map(({ as }) => [as, { title }]);
    const declared = { ...Object.fromEntries(tables), [name]: JSON.parse(text) };
    try {
      const { steps } = await service.pushSchema(app, defineSchema(declared));
      return steps.length === 0 ? "nothing" : "done";
    } catch (error) {
      if (error instanceof Problem && error.code === "incompatible_schema") return "rejected";
      throw error;
    }
  };
}

function makeName(): string {
  return `t${crypto.randomUUID().replaceAll("-", "")}`;
}
