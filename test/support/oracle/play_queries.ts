/** Comparisons of queries: pages with conditions, orders and related rows, and groups, of the rows and columns that the caller sees. @module */
import type { Json } from "../../../src/schema/mod.ts";
import { toGroupQuery } from "../../../src/sdk/query_text.ts";
import { MAX_GROUPS } from "../../../src/std/limits.ts";
import { isTrue, pick, type Random } from "../random.ts";
import { findRows, makeOrder, type Query, toMember, type View } from "./answers.ts";
import { drawConditions, drawQuery, toParameters } from "./draw_query.ts";
import { create, toFilled } from "./fill.ts";
import { compareGroups, drawGroups, findGroups, toNames } from "./groups.ts";
import {
  askerOf,
  checkSame,
  checkStatus,
  drawTurn,
  fail,
  type Turn,
  viewOf,
  withoutApp,
} from "./play.ts";
import { actionsOf, isHidden, type ModelTable, type Row, tableOf } from "./rules.ts";
import { callAs, pathOf, sightOf, type World } from "./world.ts";
import { FORBIDDEN } from "./writes.ts";

type Page = { rows: Row[]; next: string | null; hasMore: boolean; count?: number | null };
/** A query with more pages ends here: the last pages of others are compared. */
const MAX_PAGES = 12;

/** Codes of requests that no index serves, and that a test counts. */
export const LIMITS = ["needs_index", "unsupported_query"];

/** Reads a query page by page by cursor. Rows are created between some pages. */
export async function playQuery(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table } = turn;
  const { random, counts } = world;
  const asker = askerOf(turn);
  const query = drawQuery(asker, table.name);
  const parameters = toParameters(asker, query);
  const isChanged = isTrue(random, 8);
  let { view } = asker;
  let all = findRows(view, query);
  let from: Row | undefined;
  let inserted = 0;
  counts.queries++;
  for (let page = 0; page < MAX_PAGES; page++) {
    const path = `${pathOf(table.name)}?${parameters}`;
    const headers: Record<string, string> =
      query.count === undefined ? {} : { prefer: `count=${query.count}` };
    const response = await callAs(world, caller, path, { headers });
    const reasons = view(table.name).isReadable ? [] : [FORBIDDEN];
    if (!checkStatus(turn, path, { response, reasons, ok: 200, limits: LIMITS })) return;
    const body = response.json as Page;
    counts.pages++;
    checkPage(turn, path, { query, view, from, all, body });
    if (isTrue(random, 3))
      await checkTag(turn, path, { headers, tag: response.headers.get("etag") });
    if (body.next === null) return;
    from = checkCursor(turn, path, body.next, view);
    parameters.set("after", body.next);
    if (!isChanged || inserted === 3) continue;
    inserted++;
    counts.inserted++;
    const changed = random(3) === 0 ? pick(random, world.tables) : table;
    world.state = await create(toFilled(world), changed, 1);
    view = viewOf(sightOf(world, caller));
    all = findRows(view, query);
  }
}

type Compared = {
  readonly query: Query;
  readonly view: View;
  /** The first row that the page can have: the cursor is at this row. */
  readonly from: Row | undefined;
  /** All rows with the conditions, in order. */
  readonly all: readonly Row[];
  readonly body: Page;
};

/** A page has the next rows, and as many as its limit. */
function checkPage(turn: Turn, path: string, { query, view, from, all, body }: Compared): void {
  const { counts } = turn.world;
  const { limit, select } = query;
  const compare = makeOrder(view, query);
  const left = from === undefined ? all : all.filter((row) => compare(from, row) <= 0);
  const wanted = left.slice(0, limit);
  checkSame(
    turn,
    path,
    body.rows.map(withoutApp),
    wanted.map((row) => (select === undefined ? withoutApp(row) : toMember(view, row, select))),
  );
  if (body.rows.length > limit) fail(turn, path, "The page has too many rows");
  if (body.hasMore !== (body.next !== null)) fail(turn, path, "hasMore differs from next");
  if (body.hasMore !== left.length > limit) fail(turn, path, `hasMore is ${body.hasMore}`);
  if ((query.count === undefined) !== (body.count === undefined))
    fail(turn, path, "The page has no count, or a count without a request");
  if (typeof body.count === "number" && body.count !== all.length)
    fail(turn, path, `Counted ${body.count} rows instead of ${all.length}`);
  if (typeof body.count === "number") counts.counted++;
  if (select?.related.length && wanted.length > 0) counts.related++;
}

async function checkTag(
  turn: Turn,
  path: string,
  { headers, tag }: { headers: Record<string, string>; tag: string | null },
): Promise<void> {
  const again = { headers: { ...headers, "if-none-match": tag ?? "" } };
  const { status } = await callAs(turn.world, turn.caller, path, again);
  if (status !== 304) fail(turn, path, `The current tag gets ${status}`);
}

/** A cursor is at a row that the caller sees, and names another only if that row does. */
function checkCursor(turn: Turn, path: string, next: string, view: View): Row {
  const text = Buffer.from(next, "base64url").toString();
  const id = (JSON.parse(text) as Json[]).at(-1);
  const row = view(turn.table.name).rows.find((each) => each.id === id);
  const shown = JSON.stringify(row);
  for (const other of turn.world.state.get(turn.table.name) ?? [])
    if (text.includes(other.id) && shown?.includes(other.id) !== true)
      fail(turn, path, `A cursor has an invisible row: ${text}`);
  return row ?? fail(turn, path, `A cursor is at no row of the person: ${text}`);
}

export async function playGroups(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table } = turn;
  const asker = askerOf(turn);
  const seen = asker.view(table.name);
  const asked = isTrue(world.random, 2)
    ? drawConditions(asker, table.name)
    : drawQuery(asker, table.name);
  const query = drawGroups(seen.table, world.random);
  const { where, isNested } = asked;
  const names = toNames(query);
  const path = `${pathOf(table.name)}/groups?${new URLSearchParams(toGroupQuery({ ...names, where }))}`;
  const response = await callAs(world, caller, path);
  const wanted = findGroups(findRows(asker.view, { table: table.name, where, isNested }), query);
  const reasons = [
    ...(seen.isReadable ? [] : [FORBIDDEN]),
    ...(wanted.length > MAX_GROUPS ? [400] : []),
  ];
  if (!checkStatus(turn, path, { response, reasons, ok: 200, limits: LIMITS })) return;
  const { groups } = response.json as { groups: never[] };
  world.counts.groups += groups.length;
  const wrong = compareGroups(groups, wanted, query);
  if (wrong !== undefined) fail(turn, path, wrong);
}

/** A hidden column, reference or table is as an unknown one, in every place of a query. */
export async function playHidden(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const hidden = table.columns.filter((column) => isHidden(sight, column));
  if (hidden.length === 0) return;
  const { name } = pick(world.random, hidden);
  const draw = drawHidden(world.random, table, name);
  const path = `${pathOf(table.name)}${draw(name)}`;
  const response = await callAs(world, caller, path);
  const isRejected = actionsOf(sight, table).read === undefined;
  checkStatus(turn, path, { response, reasons: isRejected ? [400, FORBIDDEN] : [400], ok: 200 });
  const ask = (column: string) => callAs(world, caller, `${pathOf(table.name)}${draw(column)}`);
  const read = ({ json }: { json?: unknown }) => {
    const { error, message } = Object(json) as { error: string; message: string };
    return `${error} ${message}`;
  };
  const [found, wanted] = [read(response), read(await ask(UNKNOWN))];
  if (found.replaceAll(`"${name}"`, `"${UNKNOWN}"`).replace(SUGGESTION, "") !== wanted)
    fail(turn, path, `A hidden column is not as an unknown one: ${found} / ${wanted}`);
  const misspelled = read(await ask(`${name}z`));
  for (const text of [found, misspelled]) {
    const [, suggested] = SUGGESTION.exec(text) ?? [];
    if (hidden.some((column) => column.name === suggested))
      fail(turn, path, `A hidden column is suggested: ${text}`);
  }
}

const UNKNOWN = "zzz_unknown";
const SUGGESTION = /; did you mean "(\w+)"\?/u;

/** A query that names a column, by the column. */
function drawHidden(random: Random, table: ModelTable, hidden: string): (of: string) => string {
  const visible = table.columns.find(({ name }) => name !== hidden)?.name ?? "id";
  const draws: readonly ((of: string) => string)[] = [
    (of) => `?and=(${of}.is.null)`,
    (of) => `?order=${of}`,
    (of) => `?order=id.desc,${of}.asc`,
    (of) => `?select=id,${of}`,
    (of) => `?or=(${of}.is.null,id.is.null)`,
    (of) => `?not.and=(id.is.null,or(${of}.is.null,${visible}.is.null))`,
    (of) => `/groups?by=${of}`,
    (of) => `/groups?min=${of}`,
    (of) => `/groups?by=${visible}&and=(${of}.is.null)`,
  ];
  return pick(random, draws);
}

/** A relation is unknown if the caller does not see the reference, or does not read the other table. */
export async function playRelation(world: World): Promise<void> {
  const { random } = world;
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const parents = table.columns
    .filter(({ kind }) => kind === "ref")
    .map((via) => ({ via, other: tableOf(sight, via.table ?? ""), isChild: false }));
  const children = world.tables.flatMap((other) =>
    other.columns
      .filter((column) => column.table === table.name)
      .map((via) => ({ via, other, isChild: true })),
  );
  const { via, other, isChild } = pick(random, [...parents, ...children]);
  const column = pick(random, other.columns);
  const asked = isChild
    ? `select=id,${other.name}!${via.name}(id,${column.name})`
    : pick(random, [`select=id,${via.name}(${column.name})`, `${via.name}.${column.name}=is.null`]);
  const path = `${pathOf(table.name)}?${asked}`;
  const response = await callAs(world, caller, path);
  const [lacks, lacksOther] = [table, other].map(
    (each) => actionsOf(sight, each).read === undefined,
  );
  const isUnknown = lacksOther || isHidden(sight, via) || isHidden(sight, column);
  const reasons = [...(lacks ? [FORBIDDEN] : []), ...(isUnknown ? [400] : [])];
  checkStatus(turn, path, { response, reasons, ok: 200 });
}
