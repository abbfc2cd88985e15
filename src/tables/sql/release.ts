/**
 * The release that generated the functions of apps' tables. `rowhouse migrate` records it in a table that only an administrator
 * writes, so a process can distinguish another release's body from a planted one.
 *
 * @module
 */
import { type Database, DIALECT_NAMES, quoteLiteral } from "../../db/mod.ts";
import { isReference, KINDS } from "../../kinds/mod.ts";
import type { Rule, TableDefinition } from "../../schema/mod.ts";
import {
  type ColumnSet,
  deriveName,
  functionsOfSet,
  type ServedSet,
  serveSet,
  viewSetsOf,
} from "../catalog/mod.ts";
import { renderBody } from "./functions/functions.ts";

/** A column set with every kind and rule: two releases with the same output for it have the same output for every column set. */
const COLUMNS: ColumnSet = {
  name: "sample",
  columns: [
    ...KINDS.map((kind) => ({ name: kind, kind })),
    { name: "changed", kind: "timestamp", default: "now", onUpdate: "now" },
  ],
};

let release: string | undefined;

/** A digest of this release's functions, made on first use: commands that do not need it start 0.2 s earlier. */
export function digestRelease(): string {
  release ??= digestOf(renderSamples().join("\n"));
  return release;
}

function renderSamples(): string[] {
  const sets = [makeSample(), ...listSampleViews()];
  return DIALECT_NAMES.map((dialect) => ({ dialect })).flatMap((site) =>
    sets.flatMap((set) => functionsOfSet(set, site).map((name) => renderBody(set, name, site))),
  );
}

/** Every kind at each position of an index, in the index of one app, and in a unique constraint. */
function makeSample(): ServedSet {
  return serveSet(COLUMNS, {
    name: COLUMNS.name,
    columns: COLUMNS.columns.map((column) => ({
      ...{ required: false, unique: false, index: false },
      ...column,
    })),
    indexes: KINDS.flatMap((kind) => [
      [kind, "id"],
      [kind, "changed", "id"],
      ["changed", kind],
    ]),
    uniques: KINDS.map((kind) => [kind, "changed"]),
    deferred: {
      columns: [],
      indexes: {
        [deriveName(COLUMNS.name, ["changed", "string"], "idx")]:
          "00000000-0000-0000-0000-000000000000",
      },
    },
  });
}

/** Views with every part of the rule language, in every place. */
function listSampleViews(): ServedSet[] {
  const plain = { required: false, unique: false, index: false };
  const lists = { indexes: [], uniques: [] };
  const teams: TableDefinition = {
    ...{ name: "teams", columns: [{ ...plain, name: "string", kind: "string" }], ...lists },
    rules: { allow: { few: { read: [{ string: ["a", "b"] }] }, all: { read: [{}] } } },
  };
  const members: TableDefinition = {
    name: "members",
    columns: [
      { ...plain, name: "uuid", kind: "uuid" },
      { ...plain, name: "ref", kind: "ref", table: "teams" },
      { ...plain, name: "number", kind: "number" },
    ],
    ...lists,
  };
  const rule: Rule = [
    { uuid: "me", enum: ["a", "b"], boolean: true, number: 1, decimal: "1.5", string: null },
    { ref: { memberOf: "members", where: { number: 1 } } },
    { ref: { readable: true } },
  ];
  const every: Rule = [{}];
  const sample: TableDefinition = {
    ...{ name: COLUMNS.name, ...lists },
    columns: COLUMNS.columns.map((column) => ({
      ...plain,
      ...column,
      ...(isReference(column) ? { table: "teams" } : {}),
    })),
    rules: {
      allow: {
        all: { read: every, create: every, update: { from: every, to: every }, delete: every },
        few: { read: rule, create: rule, update: { from: rule, to: rule }, delete: rule },
        new: { create: rule },
      },
      owner: ["uuid"],
      only: { string: ["all"] },
      setBy: { decimal: ["all"] },
    },
  };
  const app = "00000000-0000-0000-0000-000000000000";
  return viewSetsOf(app, [members, sample, teams], sample.name).map((set) =>
    serveSet(set, { ...sample, indexes: KINDS.map((kind) => [kind, "id"]) }),
  );
}

/** Records the release of the tables' functions; `null` during a renewal. */
export async function recordRelease(admin: Database, release: string | null): Promise<void> {
  const name = release === null ? "null" : quoteLiteral(release);
  await admin.message(
    `update rowhouse.release set name = ${name}, recorded_at = pg_catalog.now() returning is_only`,
  );
}

/** As PostgreSQL's `md5()`. */
export function digestOf(text: string): string {
  return new Bun.CryptoHasher("md5").update(text).digest("hex");
}
