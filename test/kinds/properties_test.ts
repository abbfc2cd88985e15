/**
 * Properties of every column kind, with many values of each: a value is returned, exported, imported and archived unchanged, and
 * conditions select what the oracle selects. A new kind needs only its `KIND_CASES`.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { KINDS, type Kind, VALUES } from "../../src/kinds/mod.ts";
import type { Json } from "../../src/schema/mod.ts";
import { openAdmin } from "../support/admin.ts";
import { openApp } from "../support/archives.ts";
import { makeProject, runHere } from "../support/command.ts";
import { KIND_CASES, type KindRow, openKinds, tableWith, toTexts } from "../support/kinds.ts";
import { isFull } from "../support/tier.ts";

const tableOf = (kind: Kind) => `every_${kind}`;
const createdOf = new Map<Kind, KindRow[]>();
const here = await openAdmin({}, { service: { previews: ["filters"] } });
const there = await openAdmin();
const tables = KINDS.map((kind) => [tableOf(kind), tableWith(kind)]);
const kinds = await openKinds(here.service, Object.fromEntries(tables));
for (const kind of KINDS) {
  const written = [...kinds.valuesOf(kind), null].map((value, nth) => ({ value, nth }));
  createdOf.set(kind, await kinds.createAll(tableOf(kind), written));
}
afterAll(() => Promise.all([here.close(), there.close()]));

test.each(KINDS)(
  "every value of a %s is returned as it was written, in each notation",
  async (kind) => {
    const values = kinds.valuesOf(kind);
    expect(values.length).toBeGreaterThan(1);
    const created = createdOf.get(kind) ?? [];
    expect(toTexts(created.map(({ value }) => value))).toEqual(toTexts([...values, null]));
    expect(await kinds.list(tableOf(kind))).toEqual(created);
    const spelled = values.flatMap((value) =>
      (KIND_CASES[kind].spell?.(value) ?? []).map((notation) => ({ value, notation })),
    );
    if (spelled.length === 0) return;
    const table = tableOf(kind);
    const again = await kinds.createAll(
      table,
      spelled.map(({ notation }) => ({ value: notation, nth: -1 })),
    );
    expect(again.map(({ value }) => value)).toEqual(spelled.map(({ value }) => value));
    await kinds.remove(table, again);
  },
);

const OUTCOMES: Readonly<Record<string, (difference: number) => boolean>> = {
  eq: (difference) => difference === 0,
  neq: (difference) => difference !== 0,
  lt: (difference) => difference < 0,
  lte: (difference) => difference <= 0,
  gt: (difference) => difference > 0,
  gte: (difference) => difference >= 0,
};
const quote = (value: Json) => `"${String(value).replaceAll(/["\\]/g, "\\$&")}"`;
const escapeForRegExp = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
const toPattern = (text: string, flags: string) =>
  new RegExp(`^${text.split("*").map(escapeForRegExp).join(".*")}$`, `us${flags}`);

/** The conditions of an operator on a column: the text of each, and whether a value that is not null fulfills it. */
function toConditions(kind: Kind, operator: string, values: readonly Json[]) {
  const { order = () => Number.NaN, print = String, spell } = KIND_CASES[kind];
  // A reduced run spreads the values over the operators.
  const { operators } = VALUES[kind];
  const operands = values
    .slice(0, 60)
    .filter(
      (_, nth) =>
        isFull() ||
        nth % Math.min(operators.length, values.length) ===
          operators.indexOf(operator as "eq") % values.length,
    );
  if (operator === "in")
    return operands.slice(0, 12).map((value, index) => {
      const pair = [value, values[index] ?? value];
      return {
        text: `in.(${pair.map(quote).join(",")})`,
        isTrue: (other: Json) => pair.some((item) => order(other, item) === 0),
      };
    });
  if (operator === "like" || operator === "ilike")
    return operands
      .map(print)
      .filter((text) => text.length < 100 && !/[iIİıςσΣ]/.test(text) && text.split("*").length < 4)
      .flatMap((text) => [text, `*${text}*`, `${text}*`])
      .map((pattern) => {
        const matcher = toPattern(pattern, operator === "ilike" ? "i" : "");
        return {
          text: `${operator}.${pattern.replaceAll("\\", "\\\\")}`,
          isTrue: (other: Json) => other !== null && matcher.test(print(other)),
        };
      });
  const outcome = OUTCOMES[operator];
  if (outcome === undefined) throw new Error(`The oracle has no operator ${operator}`);
  return operands.flatMap((value) =>
    [value, ...(spell?.(value) ?? [])].slice(0, 2).map((notation) => ({
      text: `${operator}.${notation}`,
      isTrue: (other: Json) => outcome(order(other, value)),
    })),
  );
}

const FILTERED = KINDS.flatMap((kind) =>
  VALUES[kind].operators.map((operator) => ({ kind, operator })),
);
test.each(FILTERED)(
  "$operator on a $kind selects what the oracle selects",
  async ({ kind, operator }) => {
    const values = kinds.valuesOf(kind);
    const conditions = toConditions(kind, operator, values);
    expect(conditions.length).toBeGreaterThan(0);
    for (const { text, isTrue } of conditions) {
      if (text.length > 2000) continue;
      const [found, others] = await Promise.all(
        [text, `not.${text}`].map((value) => kinds.list(tableOf(kind), { value, select: "nth" })),
      );
      const nths = [...values.keys()].filter((nth) => isTrue(values[nth] ?? null));
      const rest = [...values.keys()].filter((nth) => !isTrue(values[nth] ?? null));
      expect([text, found?.map(({ nth }) => nth)]).toEqual([text, nths]);
      expect([text, others?.map(({ nth }) => nth)]).toEqual([text, rest]);
    }
  },
);

describe.each(["csv", "ndjson"])("a file in %s", (format) => {
  test.each(KINDS)("has every value of a %s, and is imported to the same values", async (kind) => {
    using project = makeProject();
    const env = { ROWHOUSE_URL: here.service.url, ROWHOUSE_API_KEY: kinds.app.key };
    const data = (...words: string[]) => runHere(["data", ...words], { ...project, env });
    const stored = await kinds.list(tableOf(kind));
    const exported = await data("export", tableOf(kind), "--format", format);
    expect([exported.code, exported.code === 0 ? "" : exported.err]).toEqual([0, ""]);
    project.write(`rows.${format}`, exported.out);
    const before = new Set(stored.map(({ id }) => id));
    const imported = await data("import", tableOf(kind), `rows.${format}`);
    expect([imported.code, imported.code === 0 ? "" : imported.err]).toEqual([0, ""]);
    const added = (await kinds.list(tableOf(kind))).filter(({ id }) => !before.has(id));
    const plain = ({ value, nth }: KindRow) => toTexts([{ value, nth }])[0];
    expect(added.map(plain)).toEqual(stored.map(plain));
    await kinds.remove(tableOf(kind), added);
  });
});

test("an archive has every value of every kind, and another service restores the same rows", async () => {
  using project = makeProject();
  const file = join(project.folder, "app.archive");
  expect(await here.run("export-app", kinds.app.slug, file)).toMatchObject({ code: 0 });
  expect(await there.run("import-app", file)).toMatchObject({ code: 0 });
  const moved = { service: there.service, app: await openApp(there, kinds.app.slug) };
  for (const kind of KINDS) {
    const stored = await kinds.list(tableOf(kind));
    expect(stored.length).toBeGreaterThan(2);
    const restored = await kinds.list(tableOf(kind), {}, moved);
    const [all, there] = [stored, restored].map((rows) =>
      toTexts(rows.map(({ id, value, nth }) => ({ id, value, nth }))),
    );
    expect(there).toEqual(all ?? []);
  }
});
