/** A table that two apps share, and that its owner makes as expensive as possible for the other app. @module */
import { expect } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { eventually } from "./eventually.ts";
import { freshName, postDefinition } from "./push.ts";
import { definitionOf, type TestService } from "./service.ts";

/** Columns of both apps. The other app does not declare `left`. */
export const base = (name: string) => ({
  title: t.string().required(),
  kind: t.enum(["b", "d"]).required().default("b"),
  code: t.string().unique(),
  amount: t.decimal().default("1.50"),
  note: t.json(),
  parent: t.ref(name, { onDelete: "cascade" }),
  at: t.timestamp().default("2026-01-02T03:04:05Z"),
});
export const whole = (name: string) =>
  defineSchema({ [name]: { ...base(name), left: t.string().default("left out") } });
export const fewer = (name: string) => defineSchema({ [name]: base(name) });

export type Column = { name: string; kind: string } & Record<string, unknown>;
export type Table = { name: string; columns: Column[]; indexes: string[][]; uniques: string[][] };

export const noise = (length: number) =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(length)))
    .toString("base64")
    .slice(0, length);

/** Adds as many columns, defaults and indexes as the limits allow: the maximum cost for the other app. */
function burden(table: Table, text: { length: number; count: number }): Table {
  const optional = { required: false, unique: false, index: false };
  const texts = Array.from({ length: text.count }, (_, n) => ({
    ...optional,
    name: `text${n}`,
    kind: "string",
    default: noise(text.length),
  }));
  const times = [0, 1, 2, 3].map((n) => ({
    ...optional,
    name: `time${n}`,
    kind: "timestamp",
    default: "now",
  }));
  const refs = [0, 1, 2].map((n) => ({
    ...optional,
    name: `ref${n}`,
    kind: "ref",
    table: table.name,
    onDelete: "cascade",
  }));
  const columns = [...table.columns, ...texts, ...times, ...refs];
  const empty = Array.from({ length: 200 - columns.length }, (_, n) => ({
    ...optional,
    name: `empty${n}`,
    kind: "string",
  }));
  const own = ["text0", "text1", "time0", "time1", "time2", "time3"];
  const common = [
    ["title", "code"],
    ["code", "title"],
    ["at", "amount", "title"],
    ["kind", "title"],
  ];
  const lists = own.map((name, n) => [name, own[(n + 1) % own.length] ?? "title", "title", "code"]);
  return {
    ...table,
    columns: [...columns, ...empty],
    // The table's reference and unique constraint count as indexes too.
    indexes: [...common, ...lists, ["title", "text0"]],
  };
}

/** Creates an app on a table that its owner makes expensive, and a control app on a table without such an owner. */
export async function makeBurdened(service: TestService) {
  const [name, plain] = [freshName(), freshName()];
  const owner = await service.makeApp(whole(name));
  await service.makeApp(whole(plain));
  const [app, control] = [await service.makeApp(fewer(name)), await service.makeApp(fewer(plain))];
  const table = definitionOf(whole(name)).tables[0] as unknown as Table;
  const pushTable = (tables: Table[]) => postDefinition(service, owner, { version: 1, tables });
  const long = burden(table, { length: 255, count: 30 });
  expect(await pushTable([long])).toMatchObject({ status: 409 });
  const pushed = await pushTable([burden(table, { length: 50, count: 4 })]);
  expect(pushed.json).toMatchObject({ status: "applied" });
  await eventually(async () => {
    const { json } = await service.call(owner, "/v1/data/schema");
    const steps = (json as { deferredSteps: { state: string }[] }).deferredSteps;
    return steps.length === 17 && steps.every(({ state }) => state === "done");
  });
  return { name, plain, app, control };
}
