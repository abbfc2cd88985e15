/**
 * Compares random queries on random schemas and rows with an oracle: the client's own `matches()` and a plain sort. Reads every
 * page by cursor to the end. Other apps have rows with the same values.
 *
 * @module
 */

import { VALUES } from "../../src/kinds/mod.ts";
import {
  type Json,
  KINDS,
  type Kind,
  type NamedColumn,
  readDefinition,
  type TableDefinition,
} from "../../src/schema/mod.ts";
import { createDataClient, DataError } from "../../src/sdk/data.ts";
import { makeCompare, matches, type TableKinds } from "../../src/sdk/matches.ts";
import { pushDefinition } from "./push_steps.ts";
import type { TestApp, TestService } from "./service.ts";

/** The seed of the slow tier. */
export const FUZZ_SEED = Number(process.env["FUZZ_SEED"] ?? 1000);

export type Random = (below: number) => number;
export type Row = { readonly [column: string]: Json } & { readonly id: string };

/** Returns a generator of whole numbers from a seed. */
export function makeRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export const ENUM = ["low", "mid", "a'b", "High", "%"];
/** Names that have a meaning in a query, in SQL or in the body of a function. */
const NAMES = [
  ...["limit", "order", "select", "offset", "after", "Body", "app", "t", "row", "values"],
  ...["plan", "a_b", "eq", "is", "asc", "status", "ids", "user", "$t".slice(1), "n"],
].filter((name, index, all) => all.indexOf(name) === index);
const TEXTS = [
  ...["", "a", "B", "b", "é", "É", "Ab%_\\", "a*b", "a,b", 'say "x"', "(x)", "null", "ab'c"],
  ...["\u{1f642}", "\uffee", "x".repeat(199), `${"x".repeat(199)}y`, "not.eq.1", " ", "a+b&c=%41"],
  ...["ÉCOLE", "ХЛЕБ", "Straße", "GROẞ", "τέλος", "ΤΈΛΟΣ", "Iİ", "ıi", "\u{10400}", "K.^$", "a\nb"],
];
/** Texts of about as many bytes as an order compares, some with a character at the cut, and with the same start. */
const CUT_TEXTS = [56, 59, 60, 61, 62, 63, 64, 65, 66, 70].flatMap((length) =>
  ["", "z", "é", "漢", "\u{1f642}", "\u{10ffff}", "zé漢\u{1f642}"].map(
    (end) => `${"x".repeat(length)}${end}`,
  ),
);
const PATTERNS = [
  "xx*",
  `${"x".repeat(58)}*`,
  `${"x".repeat(62)}é*`,
  `${"x".repeat(70)}*`,
  "\u{1f642}*",
  "xx*é",
  "*",
  "a*",
  "*B",
  "*b*",
  "*%*",
  "*_*",
  "*\\*",
  "*\\\\*",
  "a\\*b",
  "A\\**",
  "a*b",
  "",
  "É",
  "*é*",
  "x*y",
  "*,*",
  '*"*',
  "école",
  "хлеб*",
  "*ß*",
  "*έλοσ",
  "I*",
  "*ı*",
  "\u{10428}",
  "k.^$",
  "*[a-z]*",
  "*.*",
  "(x)",
  "a*B",
];

export function pick<Item>(random: Random, list: readonly Item[]): Item {
  const item = list[random(list.length)];
  if (item === undefined) throw new Error("Nothing to pick from");
  return item;
}

function drawUuid(random: Random): string {
  return `0190000${random(4)}-0000-7000-8000-00000000000${random(4)}`;
}

/** Decimals that share a double, or have none. */
const EDGE_DECIMALS = [
  ...["0.1", "0.10", "0.1000000000000000000000001", "0.1000000000000000000000002"],
  ...["-0.1000000000000000000000001", `${"9".repeat(30)}.5`, `1${"0".repeat(30)}`],
  ...[`1${"0".repeat(390)}`, `-1${"0".repeat(390)}`, `1${"0".repeat(308)}`],
  ...[`0.${"0".repeat(389)}1`, `-0.${"0".repeat(389)}1`, `0.${"0".repeat(299)}1`],
];

export const DRAW: Readonly<Record<Kind, (random: Random) => Json>> = {
  string: (random) => pick(random, isTrue(random, 3) ? CUT_TEXTS : TEXTS),
  number: (random) =>
    pick(random, [
      ...[0, -0, -1, 1, 2.5, 1e21, 1e-7, 12_345_678_901_234, 0.1, 0.1 + 2 ** -56],
      ...[Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, -Number.MIN_VALUE],
    ]),
  integer: (random) => pick(random, [0, -1, 1, 7, 2 ** 31, -(2 ** 53) + 1, 2 ** 53 - 1]),
  decimal: (random) =>
    pick(
      random,
      isTrue(random, 3) ? EDGE_DECIMALS : ["0", "-0.0", "1.0", "1.00", "9.5", "10.0", "-3"],
    ),
  boolean: (random) => random(2) === 0,
  uuid: drawUuid,
  ref: drawUuid,
  timestamp: (random) =>
    pick(random, [
      ...[
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T00:00:00.000001+00:00",
        "2026-01-01T00:00:00.0000005+00:00",
        "2025-12-31T23:59:59.999999987Z",
        "0001-01-01T00:00:00+00:00",
      ],
      ...[
        "9999-12-31T23:59:59.999999+00:00",
        "2025-12-31T23:00:00.5+00:00",
        "2026-06-01T12:00:00+00:00",
      ],
    ]),
  date: (random) =>
    pick(random, ["0001-01-01", "1969-12-31", "2024-02-29", "2026-01-01", "9999-12-31"]),
  json: (random) => pick<Json>(random, [{ a: 1 }, [1], "text", false]),
  enum: (random) => pick(random, ENUM),
};

/** A value that no other row has. Texts share their first bytes, up to and beyond those that an order compares. */
function drawUnique(kind: Kind, n: number, random: Random): Json {
  const time = new Date(Date.UTC(2000, 0, 1) + n * 86_400_000).toISOString();
  switch (kind) {
    case "string":
      return `${[...pick(random, CUT_TEXTS)].slice(0, 66).join("")}${n}`;
    case "number":
    case "integer":
      return n - 50;
    case "decimal":
      return `${n - 50}.5`;
    case "timestamp":
      return time.replace("Z", "+00:00");
    case "date":
      return time.slice(0, 10);
    case "uuid":
      return `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
    default:
      throw new Error(`A column of kind ${kind} has too few values`);
  }
}

const FEW_VALUES: readonly Kind[] = ["boolean", "enum", "json", "ref"];

const isTrue = (random: Random, oneIn: number) => random(oneIn) === 0;

export function drawTable(random: Random, name: string): TableDefinition {
  const names = NAMES.map((column) => ({ column, rank: random(1000) })).sort(
    (a, b) => a.rank - b.rank,
  );
  const columns = names.slice(0, 3 + random(6)).map(({ column }): NamedColumn => {
    const kind = isTrue(random, 4)
      ? "string"
      : pick(
          random,
          KINDS.filter((candidate) => candidate !== "ref"),
        );
    const index = kind !== "json" && isTrue(random, 3);
    const values = kind === "enum" ? { values: ENUM } : {};
    const unique = !FEW_VALUES.includes(kind) && isTrue(random, 6);
    return { name: column, kind, required: isTrue(random, 2), unique, index, ...values };
  });
  const indexable = columns.filter(({ kind }) => kind !== "json").map((column) => column.name);
  if (indexable.length === 0) return drawTable(random, name);
  const lists = Array.from({ length: random(5) }, () => [
    ...new Set(Array.from({ length: 1 + random(3) }, () => pick(random, indexable))),
    ...(isTrue(random, 4) ? [] : ["id"]),
  ]);
  const indexes = new Map(
    lists.filter(({ length }) => length > 1).map((list) => [list.join("__"), list]),
  );
  // With a column of different values, a list of columns is unique too.
  const single = columns.find(({ unique }) => unique)?.name;
  const other = pick(random, indexable);
  const uniques =
    single === undefined || single === other || isTrue(random, 2) ? [] : [[other, single]];
  return { name, columns, indexes: [...indexes.values()], uniques };
}

function drawValues({ columns }: TableDefinition, random: Random, n: number): object {
  const isNull = (column: NamedColumn) => !column.required && isTrue(random, 4);
  const draw = ({ kind, unique }: NamedColumn) =>
    unique ? drawUnique(kind, n, random) : DRAW[kind](random);
  return Object.fromEntries(
    columns.map((column) => [column.name, isNull(column) ? null : draw(column)]),
  );
}

/** Pushes a table for a new app, with random rows. */
export async function fill(
  service: TestService,
  { table, rows, random }: { table: TableDefinition; rows: number; random: Random },
): Promise<TestApp> {
  const app = await service.makeApp();
  const read = readDefinition({ version: 1, tables: [table] });
  if ("issues" in read) throw new Error(JSON.stringify(read.issues));
  const options = { app, definition: read.definition, options: { dryRun: false } };
  await pushDefinition({ admin: service.pushing, log: () => undefined }, options);
  for (let left = rows; left > 0; left -= 50) {
    const json = Array.from({ length: Math.min(left, 50) }, (_, n) =>
      drawValues(table, random, left - n),
    );
    const { status, text } = await service.call(app, `/v1/data/db/${table.name}`, {
      method: "POST",
      json,
    });
    if (status !== 201) throw new Error(text);
  }
  return app;
}

export type Query = {
  readonly where: object;
  readonly orderBy: readonly Readonly<Record<string, "asc" | "desc">>[];
  readonly limit: number;
  readonly select: readonly string[] | undefined;
  readonly count: "exact" | "estimated" | undefined;
};

function drawTests(column: NamedColumn, random: Random): Json {
  const { operators } = VALUES[column.kind];
  const op = isTrue(random, 6)
    ? "is"
    : pick(
        random,
        ["is", ...operators, "eq" as const, "gte" as const].filter(
          (candidate) => candidate === "is" || operators.some((operator) => operator === candidate),
        ),
      );
  const draw = () =>
    column.unique ? drawUnique(column.kind, random(120), random) : DRAW[column.kind](random);
  const tests: Json =
    op === "is"
      ? { is: null }
      : {
          [op]:
            op === "in" ? [draw(), draw()] : op.endsWith("like") ? pick(random, PATTERNS) : draw(),
        };
  return isTrue(random, 4) ? { not: tests } : tests;
}

function drawWhere(columns: readonly NamedColumn[], random: Random, depth: number): Json {
  const asked = Object.fromEntries(
    Array.from({ length: 1 + random(2) }, () => pick(random, columns)).map((column) => [
      column.name,
      drawTests(column, random),
    ]),
  );
  if (depth === 0 || !isTrue(random, 3)) return asked;
  const inner = () => drawWhere(columns, random, depth - 1);
  return {
    ...asked,
    ...pick<Json & object>(random, [
      { or: [inner(), inner()] },
      { not: inner() },
      { and: [inner()] },
    ]),
  };
}

const ID: NamedColumn = { name: "id", kind: "uuid", required: true, unique: false, index: false };

/** A query whose rows are a part of an index, in its order: equal values, then a range, then the order. */
function drawWalk(table: TableDefinition, ids: readonly string[], random: Random): Query {
  const { columns, indexes } = table;
  const singles = columns.filter(({ index }) => index).map(({ name }) => [name]);
  const index = pick(random, [...indexes, ...singles, ["id"]]);
  const named = [...index.filter((name) => name !== "id"), "id"].flatMap(
    (name) => [ID, ...columns].find((column) => column.name === name) ?? [],
  );
  const fixed = random(named.length);
  const draw = ({ name, kind }: NamedColumn) =>
    name === "id" ? pick(random, ids) : DRAW[kind](random);
  const next = named[fixed] ?? ID;
  const { operators } = VALUES[next.kind];
  const drawBound = (ops: readonly ["gt", "gte"] | readonly ["lt", "lte"]) =>
    operators.includes("gt")
      ? Object.fromEntries(ops.filter(() => isTrue(random, 3)).map((op) => [op, draw(next)]))
      : {};
  const isNull = !next.required && isTrue(random, 6);
  const pattern = operators.includes("like") && isTrue(random, 3);
  const like = pattern
    ? { like: pick(random, ["*", "a*", "a\\**", "x*", `${"x".repeat(58)}*`]) }
    : {};
  const range: object = isNull
    ? { is: null }
    : { ...like, ...drawBound(["gt", "gte"]), ...drawBound(["lt", "lte"]) };
  const present = next.required || isTrue(random, 3) ? {} : { [next.name]: { not: { is: null } } };
  const keys = named.slice(isNull ? fixed + 1 : fixed);
  const direction = pick(random, ["asc", "desc"] as const);
  return {
    where: {
      ...Object.fromEntries(named.slice(0, fixed).map((column) => [column.name, draw(column)])),
      ...(Object.keys(range).length > 0 ? { [next.name]: range } : present),
    },
    orderBy: (isTrue(random, 2) ? keys : keys.slice(0, Math.max(1, keys.length - 1)))
      .slice(0, 3)
      .map(({ name }) => ({ [name]: direction })),
    limit: pick(random, [2, 7, 40]),
    select:
      columns.length > 0 && isTrue(random, 3) ? ["id", pick(random, columns).name] : undefined,
    count: undefined,
  };
}

export function drawQuery(table: TableDefinition, ids: readonly string[], random: Random): Query {
  if (isTrue(random, 2)) return drawWalk(table, ids, random);
  const { columns } = table;
  const sortable = [ID, ...columns.filter(({ kind }) => kind !== "json")];
  const keys = [...new Set(Array.from({ length: random(4) }, () => pick(random, sortable).name))];
  const drawDirection = () => pick(random, ["asc", "desc"] as const);
  const sameDirection = isTrue(random, 2) ? drawDirection() : undefined;
  const byId = isTrue(random, 8)
    ? {
        id: pick<Json>(random, [
          { gt: pick(random, ids) },
          { in: [pick(random, ids), pick(random, ids)] },
          pick(random, ids),
        ]),
      }
    : {};
  return {
    where: {
      ...(columns.length === 0 || isTrue(random, 5)
        ? {}
        : (drawWhere(columns, random, 2) as object)),
      ...byId,
    },
    orderBy: keys.map((name) => ({ [name]: sameDirection ?? drawDirection() })),
    limit: pick(random, [7, 40, 1000]),
    select:
      columns.length > 0 && isTrue(random, 3) ? ["id", pick(random, columns).name] : undefined,
    // A count reads all matching rows again for each page.
    count: isTrue(random, 3) ? pick(random, ["exact", "estimated"] as const) : undefined,
  };
}

export function toKinds({ columns }: TableDefinition): TableKinds {
  return Object.fromEntries([
    ...columns.map((column) => [column.name, { column }] as const),
    ["id", { column: { kind: "uuid" } }] as const,
  ]);
}

/** The number of a text's bytes that an order compares. */
const START_BYTES = 63;

/** A text as an order compares it: its whole characters in the first 63 bytes, and the MD5 of a longer text. */
function toParts(text: string): [start: string, rest: string] {
  if (Buffer.byteLength(text) <= START_BYTES) return [text, ""];
  let start = "";
  for (const character of text) {
    if (Buffer.byteLength(start + character) > START_BYTES) break;
    start += character;
  }
  return [start, new Bun.CryptoHasher("md5").update(text).digest("hex")];
}

export function sortRows(rows: readonly Row[], { orderBy }: Query, table: TableDefinition): Row[] {
  const keys = orderBy.flatMap((key) => Object.entries(key));
  const total = [...keys, ["id", keys.at(-1)?.[1] ?? "asc"] as const];
  const kinds = new Map(table.columns.map((column) => [column.name, column]));
  return rows.toSorted((a, b) => {
    for (const [name, direction] of total) {
      const [left = null, right = null] = [a[name], b[name]];
      if (left === null || right === null) {
        if (left === right) continue;
        return left === null ? 1 : -1;
      }
      const column = kinds.get(name);
      const compare = makeCompare(column);
      const parts = (value: Json) =>
        column?.kind === "string" ? toParts(value as string) : [value as number | boolean];
      const difference =
        parts(left)
          .map((part, index) => compare(part, parts(right)[index] ?? ""))
          .find((found) => found !== 0) ?? 0;
      if (difference !== 0) return direction === "desc" ? -difference : difference;
    }
    return 0;
  });
}

export type FuzzOptions = {
  readonly seed: number;
  readonly schemas: number;
  /** Queries per schema. */
  readonly queries: number;
  /** Rows per app. */
  readonly rows: number;
  /** Instead of random tables. */
  readonly table?: TableDefinition;
  /** Whether a copy of the table without indexes must return the same pages. Requires a limit of visits above the rows. */
  readonly isCompared?: boolean;
};

export type FuzzOutcome = {
  queries: number;
  pages: number;
  needsIndex: number;
  /** Pages with a count that is not null. */
  counted: number;
  /** Pages that the table without indexes returned too. */
  compared: number;
  /** Rows that were created between the pages of a query. */
  inserted: number;
};

type FuzzTables = Record<string, { row: Row; insert: object; update: object }>;
type FuzzClient = ReturnType<typeof createDataClient<FuzzTables>>[string];
type Page = { readonly rows: readonly Row[] } & {
  readonly hasMore: boolean;
  readonly next?: string | undefined;
  readonly count?: number | null | undefined;
};

/** A filled table, and its copy without indexes, of one app. */
class FuzzSubject {
  readonly all: Row[] = [];
  readonly client: FuzzClient;
  readonly plain: FuzzClient | undefined;
  private created = 1000;

  constructor(
    private readonly service: TestService,
    private readonly app: TestApp,
    readonly table: TableDefinition,
    isCompared: boolean,
  ) {
    const { [table.name]: client, [`${table.name}_plain`]: plain } = createDataClient<FuzzTables>({
      baseUrl: service.url,
      apiKey: app.key,
    });
    if (client === undefined) throw new Error("The client has no such table");
    this.client = client;
    this.plain = isCompared ? plain : undefined;
  }

  async open(): Promise<this> {
    for await (const row of this.client.all()) this.all.push(row);
    if (this.plain === undefined) return this;
    const { table, app, service } = this;
    const columns = table.columns.map((column) => ({ ...column, index: false, unique: false }));
    const plain = { name: `${table.name}_plain`, columns, indexes: [], uniques: [] };
    const read = readDefinition({ version: 1, tables: [table, plain] });
    if ("issues" in read) throw new Error(JSON.stringify(read.issues));
    const options = { app, definition: read.definition, options: { dryRun: false } };
    await pushDefinition({ admin: service.pushing, log: () => undefined }, options);
    await this.copy();
    return this;
  }

  /** Copies the rows that the table without indexes lacks, with their ids. */
  private async copy(): Promise<void> {
    if (this.plain === undefined) return;
    const { name, columns } = this.table;
    const listed = ["app_id", "id", ...columns.map((column) => column.name)]
      .map((column) => `"${column}"`)
      .join(", ");
    const values = columns.map(({ name: column, kind }) =>
      kind === "enum" ? `"${column}"::text::data."${name}_plain__${column}__enum"` : `"${column}"`,
    );
    await this.service.query(
      `insert into data."${name}_plain" (${listed}) select ${["app_id", "id", ...values].join(", ")}
      from data."${name}" where app_id = $1 and id not in (select id from data."${name}_plain" where app_id = $1)`,
      [this.app.id],
    );
  }

  async insert(random: Random): Promise<void> {
    const json = drawValues(this.table, random, this.created++);
    const path = `/v1/data/db/${this.table.name}`;
    const created = await this.service.call(this.app, path, { method: "POST", json });
    if (created.status !== 201) throw new Error(created.text);
    this.all.push(created.json as Row);
    await this.copy();
  }
}

/** @throws {Error} a page differs from the oracle's; with the query */
export async function fuzzQueries(
  service: TestService,
  options: FuzzOptions,
): Promise<FuzzOutcome> {
  const random = makeRandom(options.seed);
  const outcome = { queries: 0, pages: 0, needsIndex: 0, counted: 0, compared: 0, inserted: 0 };
  for (let schema = 0; schema < options.schemas; schema++) {
    const table = options.table ?? drawTable(random, `fuzz_${options.seed}_${schema}`);
    const state = random(2 ** 31);
    const apps: TestApp[] = [];
    // All apps have the same values.
    for (let other = 0; other < 3; other++)
      apps.push(await fill(service, { table, rows: options.rows, random: makeRandom(state) }));
    const app = pick(random, apps);
    const subject = await new FuzzSubject(service, app, table, options.isCompared === true).open();
    const ids = subject.all.map(({ id }) => id);
    for (let count = 0; count < options.queries; count++) {
      const query = drawQuery(table, ids, random);
      try {
        await fuzzQuery(subject, query, { random, outcome });
      } catch (error) {
        if (!(error instanceof DataError) || error.code !== "needs_index")
          throw new Error(JSON.stringify({ table, query }), { cause: error });
        outcome.needsIndex++;
      }
    }
  }
  return outcome;
}

/** @throws {Error} a page differs */
async function fuzzQuery(
  subject: FuzzSubject,
  query: Query,
  { random, outcome }: { random: Random; outcome: FuzzOutcome },
): Promise<void> {
  const { table, client, plain } = subject;
  // New rows can be on a later page: those before the query have their place.
  const isChanged = isTrue(random, 8);
  const kinds = toKinds(table);
  const all = [...subject.all];
  const wanted = sortRows(
    all.filter((row) => matches(row, query.where, kinds)),
    query,
    table,
  );
  const found: Row[] = [];
  const others = isChanged ? undefined : plain?.pages(query as object);
  for await (const page of client.pages(query as object) as AsyncGenerator<Page>) {
    outcome.pages++;
    if (page.hasMore !== (typeof page.next === "string"))
      throw new Error("hasMore differs from next");
    if (page.rows.length > query.limit) throw new Error("The page has too many rows");
    if ((query.count === undefined) !== (page.count === undefined))
      throw new Error("The page has no count, or a count without a request");
    if (typeof page.count === "number") outcome.counted++;
    if (typeof page.count === "number" && page.count !== wanted.length && !isChanged)
      throw new Error(`The page counts ${page.count} rows, expected ${wanted.length}`);
    found.push(...page.rows);
    if (found.length > subject.all.length) throw new Error("A row is repeated");
    const other = await others?.next();
    if (other !== undefined) {
      outcome.compared++;
      const [byIndex, without] = [page, other.value].map((listed) => JSON.stringify(listed));
      if (byIndex !== without)
        throw new Error(`Without indexes, the page is ${without} instead of ${byIndex}`);
    }
    if (isChanged && page.hasMore && subject.all.length < all.length + 3) {
      await subject.insert(random);
      outcome.inserted++;
    }
  }
  outcome.queries++;
  const isOld = new Set(all.map(({ id }) => id));
  const [got, want] = [found.filter(({ id }) => isOld.has(id)), wanted].map((list) =>
    list.map(({ id }) => id).join(),
  );
  if (got !== want) throw new Error(`Found ${found.length} rows instead of ${wanted.length}`);
  if (new Set(found.map(({ id }) => id)).size < found.length) throw new Error("A row is repeated");
  const wrong = found.find((row) => differs(row, subject.all, query));
  if (wrong !== undefined)
    throw new Error(`A row differs from the stored row: ${JSON.stringify(wrong)}`);
}

function differs(row: Row, all: readonly Row[], { select }: Query): boolean {
  const stored = all.find(({ id }) => id === row.id);
  const columns = select === undefined ? Object.keys(stored ?? {}) : [...new Set(select)];
  const wanted = columns.map((name) => stored?.[name]);
  return (
    JSON.stringify(columns.map((name) => row[name])) !== JSON.stringify(wanted) ||
    Object.keys(row).length !== columns.length
  );
}
