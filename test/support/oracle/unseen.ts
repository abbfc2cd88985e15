/**
 * What a person gets must not depend on rows that the person does not see: random requests to two apps that differ only in such rows.
 * Some of these have values that a request fails by which reads them: texts that are too long for a group or a response.
 *
 * @module
 */
import type { Json } from "../../../src/schema/mod.ts";
import { toGroupQuery, toManyQuery } from "../../../src/sdk/query_text.ts";
import { withDatabase } from "../cluster.ts";
import { openToBrowsers } from "../person_keys.ts";
import { isTrue, makeRandom, pick, type Random } from "../random.ts";
import type { Call, TestApp, TestResponse, TestService } from "../service.ts";
import { type Asker, drawConditions, drawCursor, drawQuery, toParameters } from "./draw_query.ts";
import { drawBody, FEW_ROWS, fill, toFilled } from "./fill.ts";
import { drawGroups, toNames } from "./groups.ts";
import { askerOf } from "./play.ts";
import { actionsOf, type ModelTable, type Row, sees, visibleRows } from "./rules.ts";
import { DRAW } from "./values.ts";
import {
  type Caller,
  changeRules,
  definitionOfTables,
  mintKey,
  openWorld,
  pathOf,
  pushTables,
  sightOf,
  type World,
} from "./world.ts";
import { type Body, keysOf } from "./writes.ts";

export type UnseenOptions = {
  readonly seed: number;
  /** Rows that the person sees, and rows that only the second app has, of one table. Others have a tenth of them. */
  readonly seen: number;
  readonly unseen: number;
  readonly requests: number;
  /** How often the second app has each of its own rows, with another id. Rows with unique values are there once. */
  readonly copies?: number;
  /** Writes by conditions after the requests. */
  readonly writes?: number;
  /** Only pages of all rows, as without the preview of conditions. */
  readonly isPlain?: boolean;
};

/** A request whose answers differ. */
type Leak = { readonly request: string; readonly rules: unknown; readonly answers: string[] };
export type UnseenOutcome = {
  readonly leaks: readonly Leak[];
  readonly requests: number;
  /** How many requests had each status. */
  readonly statuses: Readonly<Record<number, number>>;
  /** How many rows only the second app has. */
  readonly unseen: number;
};

/** Compares the answers of the two apps. */
export async function compareUnseen(
  service: TestService,
  options: UnseenOptions,
): Promise<UnseenOutcome> {
  const random = makeRandom(options.seed);
  const world = await openWorld(service, { random, suffix: `unseen${options.seed}` });
  const { person, table } = await drawPerson(world);
  world.state = await fill(toFilled(world), FEW_ROWS);
  const add = (app: TestApp, isSeen: boolean, count: number) =>
    addRows({ ...world, app }, { person, table, isSeen, count });
  await add(world.app, true, options.seen);
  const other = await copyApp(world);
  const added = await add(other, false, options.unseen);
  const unseen = await copyRows({ ...world, app: other }, table, options.copies ?? 1, added);
  for (const each of world.tables.slice(3))
    if (each !== table)
      await addRows(
        { ...world, app: other },
        { person, table: each, isSeen: false, count: options.unseen / 10 },
      );
  const callers = [
    { app: world.app.id, key: person.key },
    { app: other.id, key: await mintKey(service, other, person) },
  ];
  const asker = askerOf({ world, sight: sightOf(world, person) });
  const statuses: Record<number, number> = {};
  const leaks: Leak[] = [];
  let requests = 0;
  const { requests: reads, writes = 0 } = options;
  for (let n = 0; n < reads + writes; n++) {
    const asked = isTrue(random, 4) && n < reads ? pick(random, world.tables) : table;
    let { path, ...call } =
      n >= reads
        ? drawWrite(asker, asked)
        : options.isPlain
          ? { path: drawPage(random, asked) }
          : drawRequest(asker, asked);
    for (let pages = 0; pages < 4; pages++) {
      const found = await Promise.all(
        callers.map(({ key }) => service.call(undefined, path, { ...call, key })),
      );
      const answers = found.map((each, at) => describe(each, callers[at]?.app ?? ""));
      const [{ status, json }] = found as [TestResponse];
      statuses[status] = (statuses[status] ?? 0) + 1;
      requests++;
      if (answers[0] !== answers[1]) {
        const request = `${call.method ?? "GET"} ${path}`;
        leaks.push({ request, rules: asked.allow[person.role], answers });
        break;
      }
      const { next } = Object(json) as { next?: string | null };
      if (typeof next !== "string") break;
      path = `${path.replace(/&(after|offset)=[^&]*/, "")}&after=${next}`;
    }
  }
  return { leaks, requests, statuses, unseen };
}

const HEADERS = ["content-type", "link", "retry-after", "cache-control", "preference-applied"];

function describe({ status, headers, text }: TestResponse, app: string): string {
  const shown = HEADERS.map((name) => headers.get(name) ?? "");
  const body = text.replaceAll(app, "APP").replace(/"requestId":"[^"]+"/, "");
  return `${status} ${shown.join(" ")} ${body}`;
}

/** A person, and a table of which the person reads some rows. */
async function drawPerson(world: World): Promise<{ person: Caller; table: ModelTable }> {
  for (let rules = 0; rules < 20; rules++) {
    const rejected = await changeRules(world);
    if (rejected !== undefined) continue;
    const person = pick(world.random, world.callers.slice(1));
    const readable = world.tables.slice(3).filter((table) => {
      const { read } = actionsOf({ person }, table);
      return read !== undefined && read !== true;
    });
    if (readable.length > 0) return { person, table: pick(world.random, readable) };
  }
  throw new Error("No rules show a person a part of a table");
}

/** The app with the same tables and rows. */
async function copyApp({ service, app, tables }: World): Promise<TestApp> {
  const other = await service.makeApp();
  await openToBrowsers(service, other);
  await pushTables({ service, app: other }, definitionOfTables(tables));
  for (const table of tables) {
    const columns = columnsOf(table);
    await service.query(
      `insert into data."${table.name}" (app_id, ${columns}) select $1, ${columns}
        from data."${table.name}" where app_id = $2`,
      [other.id, app.id],
    );
  }
  return other;
}

function columnsOf({ columns }: ModelTable): string {
  return ["id", ...columns.map(({ name }) => name)].map((name) => `"${name}"`).join(", ");
}

type Added = {
  readonly person: Caller;
  readonly table: ModelTable;
  readonly isSeen: boolean;
  readonly count: number;
};

/** Stores rows that the person sees, or does not see. They reference rows of both apps. @returns how many */
async function addRows(
  world: World,
  { person, table, isSeen, count }: Added,
): Promise<readonly string[]> {
  const filled = toFilled(world);
  const sight = sightOf(world, person);
  const rows: Row[] = [];
  const near = visibleRows(sight, table);
  // A rule can allow few values, or all that were drawn.
  for (let n = 0; n < 8 * count && rows.length < count; n++) {
    const id = crypto.randomUUID();
    const drawn = drawBody(filled, table, 1000 + n);
    const others = { ...drawn, ...drawNear(world, near, table), ...drawLong(world, table) };
    const row: Row = { ...(isSeen ? drawn : others), id };
    const stored = Object.fromEntries(
      table.columns
        .filter(({ onUpdate }) => onUpdate !== undefined)
        .map(({ name }): [string, Json] => [name, "2026-01-01T00:00:00Z"]),
    );
    if (sees(sight, table, row) === isSeen) rows.push({ ...row, ...stored, id });
  }
  const columns = columnsOf(table);
  await world.service.query(
    `insert into data."${table.name}" (app_id, ${columns}) select $1, ${columns}
      from jsonb_populate_recordset(null::data."${table.name}", $2::text::jsonb)
      on conflict do nothing`,
    [world.app.id, JSON.stringify(rows)],
  );
  await world.service.query(`analyze data."${table.name}"`, []);
  return rows.map(({ id }) => id);
}

/** Copies rows, without those that a unique constraint has once. @returns how many there are of them */
async function copyRows(
  { service, app }: World,
  table: ModelTable,
  copies: number,
  ids: readonly string[],
): Promise<number> {
  if (copies === 1) return ids.length;
  const names = table.columns.map(({ name }) => `"${name}"`).join(", ");
  // The service's connection has a limit of time.
  const text = `insert into data."${table.name}" (app_id, id, ${names})
    select app_id, gen_random_uuid(), ${names} from data."${table.name}", generate_series(2, ${copies})
    where app_id = '${app.id}' and id = any ('{${ids.join(",")}}') on conflict do nothing;
    analyze data."${table.name}"; select 1`;
  await withDatabase(service.database.superuserUrl, (admin) =>
    admin.message(text, { timeoutMs: 900_000 }),
  );
  const [all] = await service.query<{ count: number }>(
    `select count(*)::int4 as count from data."${table.name}" where app_id = $1`,
    [app.id],
  );
  return all?.count ?? 0;
}

const LONG = "A long text, which no group can have. ".repeat(60);

/** One row of eight has texts that are too long for the key of a group. */
function drawLong({ random }: World, { columns }: ModelTable): Body {
  if (!isTrue(random, 8)) return {};
  const texts = columns.filter(({ kind, unique }) => kind === "string" && !unique);
  return Object.fromEntries(
    texts.map(({ name }) => [name, pick(random, [LONG, `a${LONG}`, `x${LONG}`])]),
  );
}

/** Half of the rows are like one that the person sees, but for some columns. Values of unique constraints stay different. */
function drawNear({ random }: World, near: readonly Row[], table: ModelTable): Body {
  if (near.length === 0 || isTrue(random, 2)) return {};
  const row = pick(random, near);
  const unique = new Set(keysOf(table).flat());
  const columns = table.columns.filter(
    ({ name, onUpdate }) => onUpdate === undefined && !unique.has(name) && !isTrue(random, 4),
  );
  return Object.fromEntries(columns.map(({ name }) => [name, row[name] ?? null]));
}

type Request = Call & { readonly path: string };

/** A write that no unique value or reference of another row rejects. Its time is not compared. */
function drawWrite(asker: Asker, { name, columns, ...table }: ModelTable): Request {
  const { random } = asker;
  const unique = new Set(keysOf({ name, columns, ...table }).flat());
  const free = columns.filter(
    ({ name: column, kind, onUpdate }) =>
      onUpdate === undefined && !unique.has(column) && kind !== "ref" && kind !== "uuid",
  );
  const column = pick(random, free);
  const { where } = drawConditions(asker, name);
  const limit = isTrue(random, 2) ? { limit: 1 + random(5) } : {};
  const query = new URLSearchParams(toManyQuery({ where, all: true, ...limit }, "test"));
  if (Object.keys(where).length > 0) query.delete("all");
  const json = { [column.name]: DRAW[column.kind](random) };
  return { path: `${pathOf(name)}?${query}`, method: "PATCH", json };
}

function drawPage(random: Random, { name }: ModelTable): string {
  const limit = pick(random, ["0", "1", "20", "59", "60", "1000"]);
  return `${pathOf(name)}?limit=${limit}&offset=${random(3) * 30}`;
}

function drawRequest(asker: Asker, table: ModelTable): Request {
  const { random, view } = asker;
  const { name } = table;
  const kind = random(10);
  const { where } = drawConditions(asker, name);
  if (kind === 0) {
    const names = toNames(drawGroups(view(name).table, random));
    return {
      path: `${pathOf(name)}/groups?${new URLSearchParams(toGroupQuery({ ...names, where }))}`,
    };
  }
  if (kind <= 2) {
    const limit = isTrue(random, 2) ? { limit: 3 } : {};
    const asked = { where, all: true, dryRun: true, ...limit } as const;
    const query = new URLSearchParams(toManyQuery(asked, "test"));
    if (Object.keys(where).length > 0) query.delete("all");
    const path = `${pathOf(name)}?${query}`;
    return kind === 1 ? { path, method: "DELETE" } : { path, method: "PATCH", json: {} };
  }
  if (kind === 3) return { path: drawPage(random, table) };
  const query = drawQuery(asker, name);
  const parameters = toParameters(asker, query);
  if (isTrue(random, 8)) parameters.set("offset", `${random(4)}`);
  else if (isTrue(random, 4)) parameters.set("after", drawCursor(asker, query));
  const headers = query.count === undefined ? {} : { prefer: `count=${query.count}` };
  return { path: `${pathOf(name)}?${parameters}`, headers };
}
