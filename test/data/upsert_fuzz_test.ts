/** Random upserts against an oracle: several unique sets, nulls, references, defaults, lists, repeated requests and two apps. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  owners: { name: t.string() },
  things: t
    .model({
      tag: t.string().unique(),
      amount: t.decimal(),
      kind: t.enum(["a", "b"]),
      owner: t.ref("owners"),
      size: t.integer().default(1),
      note: t.string().default("none"),
    })
    .unique("amount", "kind")
    .unique("owner", "size")
    .unique("kind", "note", "size"),
});
const THINGS = "/v1/data/db/things";
const SETS = [["tag"], ["amount", "kind"], ["owner", "size"], ["kind", "note", "size"]] as const;
const DEFAULTS: Row = { tag: null, amount: null, kind: null, owner: null, size: 1, note: "none" };
const ROUNDS = process.env["TEST_EXTENT"] === "full" ? 1500 : 250;

type Row = Readonly<Record<string, unknown>>;

const apps: { app: TestApp; owners: string[]; rows: Map<string, Row> }[] = [];
const service = await share(openTestService({ service: { previews: ["filters"] } }));
for (let n = 0; n < 2; n++) {
  const app = await service.makeApp(schema);
  const { json } = await service.call(app, "/v1/data/db/owners", {
    method: "POST",
    json: [{ name: "one" }, { name: "two" }, { name: "three" }],
  });
  const owners = (json as { rows: { id: string }[] }).rows.map(({ id }) => id);
  apps.push({ app, owners, rows: new Map() });
}

/** A small generator with a fixed seed. */
let seed = 51;
function random(below: number): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return Math.floor((seed / 2 ** 31) * below);
}
const pick = <Value>(values: readonly Value[]) => values[random(values.length)];
const LONG = "é".repeat(40);

function makeRow(owners: readonly string[]): Row {
  const values: Record<string, unknown> = {
    tag: pick([null, "a", "b", `${LONG}1`, `${LONG}2`, "c", "d"]),
    amount: pick([null, "1.5", "1.50", "2", "-3.25", "10"]),
    kind: pick([null, "a", "b"]),
    owner: pick([null, ...owners]),
    size: pick([null, 1, 2, 3]),
    note: pick(["x", "y", "z", null]),
  };
  return Object.fromEntries(Object.entries(values).filter(() => random(3) > 0));
}

/** The values of a unique set, equal for equal values; `undefined` with a null. */
function keyOf(row: Row, set: readonly string[]): string | undefined {
  const values = set.map((name) => row[name] ?? null);
  if (values.includes(null)) return undefined;
  return JSON.stringify(set.map((name) => (name === "amount" ? Number(row[name]) : row[name])));
}

function findBy(rows: ReadonlyMap<string, Row>, row: Row, set: readonly string[]) {
  const key = keyOf(row, set);
  return key === undefined
    ? undefined
    : [...rows].find(([, stored]) => keyOf(stored, set) === key)?.[0];
}

test("stores what the oracle stores, row by row", async () => {
  const counts: Record<string, number> = {};
  for (let round = 0; round < ROUNDS; round++) {
    const own = apps[random(2)];
    const set = SETS[random(SETS.length)];
    if (own === undefined || set === undefined) throw new Error("No app");
    const { app, owners, rows } = own;
    const list = Array.from({ length: 1 + random(6) }, () => makeRow(owners));
    const isOne = list.length === 1 && random(2) === 0;
    const isIgnored = random(4) === 0;
    const query = `onConflict=${set.toReversed().join(",")}${isIgnored ? "&existing=ignore" : ""}`;
    const call = {
      method: "POST",
      json: isOne ? list[0] : list,
      headers: { "idempotency-key": `round ${round}` },
    };
    const found = await service.call(app, `${THINGS}?${query}`, call);
    const keys = list.map((row) => keyOf({ ...DEFAULTS, ...row }, set));
    const isRepeated = keys.some((key, n) => key !== undefined && keys.indexOf(key) !== n);
    counts[found.status] = (counts[found.status] ?? 0) + 1;
    const wanted = list.map((row) => {
      const id = findBy(rows, { ...DEFAULTS, ...row }, set);
      const before = id === undefined ? undefined : rows.get(id);
      const after = before === undefined ? { ...DEFAULTS, ...row } : { ...before, ...row };
      return { id, before, after: isIgnored && before !== undefined ? before : after };
    });
    const label = JSON.stringify({ round, query, list });
    if (isRepeated) expect([label, found.status]).toEqual([label, 422]);
    else if (found.status === 409) {
      // Another row has a value of the rows at some moment.
      const states = [...rows].map(([id, row]) => ({ id, row }));
      const clashes = wanted.some(({ id, after }, n) =>
        SETS.some((other) => {
          const key = keyOf(after, other);
          const others = wanted.flatMap((one, m) => (m === n ? [] : [one.after]));
          const stored = states.flatMap((one) => (one.id === id ? [] : [one.row]));
          return (
            key !== undefined && [...others, ...stored].some((row) => keyOf(row, other) === key)
          );
        }),
      );
      expect([label, clashes]).toEqual([label, true]);
    } else {
      const body = found.json as { rows: (Row & { id: string })[]; results: string[] };
      const stored = isOne ? [found.json as Row & { id: string }] : body.rows;
      const isSame = ({ before, after }: (typeof wanted)[number]) =>
        JSON.stringify(before) === JSON.stringify(after);
      const results = wanted.map((one) => {
        if (one.before === undefined) return "created";
        if (isIgnored) return "ignored";
        return isSame(one) ? "unchanged" : "updated";
      });
      if (isOne)
        expect([label, found.status]).toEqual([label, results[0] === "created" ? 201 : 200]);
      else expect([label, body.results]).toEqual([label, results]);
      for (const [n, { id, after }] of wanted.entries()) {
        const { id: storedId, app_id, ...values } = stored[n] ?? { id: "", app_id: "" };
        expect([label, app_id, id ?? storedId, values]).toEqual([label, app.id, storedId, after]);
        rows.set(storedId, after);
      }
      const again = await service.call(app, `${THINGS}?${query}`, call);
      expect([label, again.status, again.text]).toEqual([label, found.status, found.text]);
    }
    if (rows.size > 40)
      for (const id of [...rows.keys()].slice(0, 30)) {
        await service.call(app, `${THINGS}/${id}`, { method: "DELETE" });
        rows.delete(id);
      }
  }
  for (const { app, rows } of apps) {
    const { json } = await service.call(app, THINGS);
    const stored = (json as { rows: (Row & { id: string })[] }).rows;
    expect(new Map(stored.map(({ id, app_id: _, ...row }) => [id, row]))).toEqual(
      new Map([...rows].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    );
  }
  for (const status of ["200", "201", "409", "422"]) expect(counts[status]).toBeGreaterThan(5);
}, 120_000);
