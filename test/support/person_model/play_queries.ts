/**
 * Comparisons of queries: a person's query reads the table that the person sees, so the oracle of queries runs on the visible rows
 * and columns.
 *
 * @module
 */
import type { Json, NamedColumn, TableDefinition } from "../../../src/schema/mod.ts";
import { matches } from "../../../src/sdk/matches.ts";
import { toGroupQuery, toQueryParameters } from "../../../src/sdk/query_text.ts";
import { compareGroups, drawGroups, findGroups, toNames } from "../groups_fuzz.ts";
import { drawQuery, pick, type Query, type Random, sortRows, toKinds } from "../query_fuzz.ts";
import { checkSame, checkStatus, drawTurn, fail, type Turn, visibleOf } from "./play.ts";
import { withoutApp } from "./play_reads.ts";
import {
  actionsOf,
  isHidden,
  type ModelTable,
  project,
  type Row,
  visibleColumns,
} from "./rules.ts";
import { callAs, pathOf, type World } from "./world.ts";
import { FORBIDDEN } from "./writes.ts";

/** The table as the role sees it. */
export function visibleTable({ sight, table }: Turn): TableDefinition {
  const columns = visibleColumns(sight, table).map(
    ({ name, kind, required, index, table: target, values }): NamedColumn => ({
      ...{ name, kind, required, index, unique: false },
      ...(target === undefined ? {} : { table: target }),
      ...(values === undefined ? {} : { values }),
    }),
  );
  const names = new Set(["id", ...columns.map(({ name }) => name)]);
  const indexes = table.indexes.filter((index) => index.every((name) => names.has(name)));
  return { name: table.name, columns, indexes, uniques: [] };
}

/** Conditions with values of the table; half of them are the query oracle's own. */
export function drawWhere(turn: Turn): object {
  const { world, rows, table } = turn;
  const { random } = world;
  const visible = visibleTable(turn);
  const ids =
    rows.length === 0 ? ["01900000-0000-7000-8000-0000000000fd"] : rows.map(({ id }) => id);
  const comparable = visible.columns.filter(({ kind }) => kind !== "json");
  if (random(2) === 0 || comparable.length === 0 || rows.length === 0)
    return drawQuery(visible, ids, random).where;
  const test = (): object => {
    const { name } = pick(random, comparable);
    const value = pick(random, rows)[name] ?? null;
    return { [name]: value !== null && random(4) === 0 ? { not: { eq: value } } : value };
  };
  const draws = [test, () => ({ or: [test(), test()] }), () => ({ not: test() }), () => ({})];
  void table;
  return pick(random, draws)();
}

type Page = { rows: Row[]; next: string | null; hasMore: boolean; count?: number | null };

/** A query, page by page by cursor to the end. */
export async function playQuery(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight, rows } = turn;
  const { random } = world;
  const visible = visibleTable(turn);
  const ids = rows.map(({ id }) => id);
  const drawn = drawQuery(
    visible,
    ids.length === 0 ? ["01900000-0000-7000-8000-0000000000fd"] : ids,
    random,
  );
  const query: Query = random(2) === 0 ? drawn : { ...drawn, where: drawWhere(turn) };
  const seen = visibleOf(sight, table).map((row) => project(sight, table, row));
  const kinds = toKinds(visible);
  const wanted = sortRows(
    seen.filter((row) => matches(row, query.where, kinds)),
    query,
    visible,
  );
  const asked = toQueryParameters(query as never);
  const found: Row[] = [];
  const isRejected = actionsOf(sight, table).read === undefined;
  for (let after: string | undefined, page = 0; page < 200; page++) {
    const parameters = new URLSearchParams([...asked, ["limit", `${query.limit}`]]);
    if (asked.length === 0) parameters.append("order", "id.asc");
    if (after !== undefined) parameters.append("after", after);
    const path = `${pathOf(table.name)}?${parameters}`;
    const headers: Record<string, string> =
      query.count === undefined ? {} : { prefer: `count=${query.count}` };
    const response = await callAs(world, caller, path, { headers });
    const reasons = isRejected ? [FORBIDDEN] : [];
    if (!checkStatus(turn, path, { response, reasons, ok: 200 })) return;
    const body = response.json as Page;
    checkCursor(turn, path, body.next);
    if (typeof body.count === "number" && body.count !== wanted.length)
      fail(turn, path, `Counted ${body.count} rows instead of ${wanted.length}`);
    found.push(...body.rows);
    if (found.length > rows.length) fail(turn, path, "A row is repeated");
    if (body.next === null) {
      const pages = wanted.map((row) => withoutApp(select(row, query)));
      return checkSame(turn, path, found.map(withoutApp), pages);
    }
    after = body.next;
  }
  fail(turn, query, "The query has no end");
}

function select(row: Row, { select: names }: Query): object {
  if (names === undefined) return row;
  return Object.fromEntries(names.map((name) => [name, row[name] ?? null]));
}

/** A cursor is at a row that the person sees, and names another only if that row does. */
function checkCursor(turn: Turn, path: string, next: string | null | undefined): void {
  if (next == null) return;
  const text = Buffer.from(next, "base64url").toString();
  const id = (JSON.parse(text) as Json[]).at(-1);
  const row = visibleOf(turn.sight, turn.table).find((each) => each.id === id);
  const shown = JSON.stringify(row && project(turn.sight, turn.table, row));
  for (const other of turn.rows)
    if (text.includes(other.id) && shown?.includes(other.id) !== true)
      fail(turn, path, `A cursor has an invisible row: ${text}`);
  if (row === undefined) fail(turn, path, `A cursor is at no row of the person: ${text}`);
}

export async function playGroups(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight, rows } = turn;
  const visible = visibleTable(turn);
  const ids = rows.map(({ id }) => id);
  const seen = visibleOf(sight, table).map((row) => project(sight, table, row));
  const some = ids.length === 0 ? ["01900000-0000-7000-8000-0000000000fd"] : ids;
  const drawn = drawGroups(visible, some, world.random);
  const query = world.random(2) === 0 ? drawn : { ...drawn, where: drawWhere(turn) };
  const asked = new URLSearchParams(toGroupQuery({ ...toNames(query), where: query.where }));
  const path = `${pathOf(table.name)}/groups?${asked}`;
  const response = await callAs(world, caller, path);
  const reasons = actionsOf(sight, table).read === undefined ? [FORBIDDEN] : [];
  if (!checkStatus(turn, path, { response, reasons, ok: 200 })) return;
  const { groups } = response.json as { groups: never[] };
  const matching = seen.filter((row) => matches(row, query.where, toKinds(visible)));
  const wrong = compareGroups(groups, findGroups(matching, query), query);
  if (wrong !== undefined) fail(turn, path, wrong);
}

/** A hidden column is an unknown column, in every place of a query. */
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
