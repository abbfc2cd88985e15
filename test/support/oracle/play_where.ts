/** Comparisons of writes that find rows by their values: with conditions, and upserts. @module */
import type { Json } from "../../../src/schema/mod.ts";
import { toManyQuery } from "../../../src/sdk/query_text.ts";
import { pick } from "../random.ts";
import { findRows } from "./answers.ts";
import { drawChange, drawNew } from "./draw_body.ts";
import { drawConditions } from "./draw_query.ts";
import { askerOf, checkStatus, drawTurn, fail, settle, type Turn, visibleOf } from "./play.ts";
import { LIMITS } from "./play_queries.ts";
import { judgeChanges } from "./play_writes.ts";
import {
  actionsOf,
  columnOf,
  fromOf,
  isAllowed,
  isFixed,
  isHidden,
  isOwn,
  isSame,
  isServer,
  type Row,
  type Rule,
  type State,
} from "./rules.ts";
import { callAs, pathOf, type World } from "./world.ts";
import {
  type Body,
  CONFLICT,
  FORBIDDEN,
  findConflicts,
  findDoomed,
  INVALID,
  keysOf,
  NOT_FOUND,
  rejectColumns,
  rejectCreate,
  rejectUpdate,
  toNewRow,
  withoutRows,
  withRows,
} from "./writes.ts";

type Counted = { count: number; ids?: string[]; hasMore?: boolean };

/** A request with conditions. It finds the rows that the person sees and that a rule allows to write. */
function drawAsked(turn: Turn, rule: Rule | undefined) {
  const { world, sight, table } = turn;
  const asker = askerOf(turn);
  const { where, isNested } = drawConditions(asker, table.name);
  const isDry = world.random(5) === 0;
  const limit = world.random(3) === 0 ? 1 + world.random(3) : undefined;
  const asks = { table: table.name, where, isNested };
  const found = new Set(findRows(asker.view, asks).map(({ id }) => id));
  const matching = visibleOf(sight, table).filter(
    (row) => found.has(row.id) && isAllowed(sight, table, { row, rule }),
  );
  const asked = {
    where,
    all: true,
    ...(limit === undefined ? {} : { limit }),
    ...(isDry ? { dryRun: true } : {}),
  } as const;
  const query = new URLSearchParams(toManyQuery(asked, "test"));
  if (Object.keys(where).length > 0) query.delete("all");
  return {
    path: `${pathOf(table.name)}?${query}`,
    isDry,
    rows: limit === undefined ? matching : matching.slice(0, limit),
  };
}

/** The rows that the person may change are updated if the new state of each is allowed; otherwise none is. */
export async function playUpdateWhere(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const { read, update } = actionsOf(sight, table);
  const { path, isDry, rows } = drawAsked(turn, fromOf(update));
  const body = drawChange(turn);
  const request = { path, body };
  const response = await callAs(world, caller, path, { method: "PATCH", json: body });
  const lacks = read === undefined || update === undefined;
  const isIdle = isDry || rows.length === 0;
  const columns = rejectColumns(sight, table, body, { isWritten: !isIdle });
  const each = judgeChanges(
    turn,
    rows.map(({ id }) => ({ id, body })),
  );
  const reasons = lacks ? [FORBIDDEN] : [...columns, ...(isDry ? [] : each.reasons)];
  // A referenced row is read once, before the rows: one of them can be that row, and end the person's view of it.
  const mayPass = !lacks && columns.length === 0 && each.passesTogether;
  const isDone = checkStatus(turn, request, {
    response,
    reasons,
    ok: 200,
    mayPass,
    limits: LIMITS,
  });
  if (isDone) checkCount(turn, request, response.json as Counted, rows);
  const after = rows.map((row): Row => ({ ...row, ...body, id: row.id }));
  const isWritten = isDone && !isDry;
  await settle(turn, request, isWritten ? withRows(sight.state, table.name, after) : sight.state);
}

function checkCount(turn: Turn, request: unknown, found: Counted, rows: readonly Row[]): void {
  if (found.count !== rows.length)
    fail(turn, request, `Counted ${found.count} rows instead of ${rows.length}`);
  const seen = new Set(rows.map(({ id }) => id));
  for (const id of found.ids ?? [])
    if (!seen.has(id)) fail(turn, request, `The response names another row: ${id}`);
}

export async function playDeleteWhere(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const { read, delete: rule } = actionsOf(sight, table);
  const { path, isDry, rows } = drawAsked(turn, rule);
  const response = await callAs(world, caller, path, { method: "DELETE" });
  const ids = rows.map(({ id }) => id);
  const doomed = findDoomed(sight, table, ids);
  const held = doomed.isHeld && !isDry ? [CONFLICT] : [];
  const reasons = read === undefined || rule === undefined ? [FORBIDDEN] : held;
  if (reasons.length === 0 && doomed.isTied && response.status === 409) return;
  const isDone = checkStatus(turn, path, { response, reasons, ok: 200, limits: LIMITS });
  if (isDone) checkCount(turn, path, response.json as Counted, rows);
  await settle(turn, path, isDone && !isDry ? withoutRows(sight, doomed.ids) : sight.state);
}

/** What happens to rows that exist; `only`: no row is created. */
const EXISTING = ["update", "update", "ignore", "only"] as const;
type Existing = (typeof EXISTING)[number];

/** Creates rows, or updates those that the person sees and may change: one, or all of a list, or none. */
export async function playUpsert(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const keys = keysOf(table);
  if (keys.length === 0) return;
  const key = pick(world.random, keys);
  const mode = pick(world.random, EXISTING);
  const isOne = world.random(2) === 0;
  const bodies = Array.from({ length: isOne ? 1 : 1 + world.random(4) }, () =>
    mode === "only" ? drawKeyed(turn, key) : drawSent(turn),
  );
  const query = `onConflict=${key.toReversed().join(",")}${mode === "update" ? "" : `&existing=${mode}`}`;
  const path = `${pathOf(table.name)}?${query}`;
  const request = { path, bodies };
  const headers = { "idempotency-key": crypto.randomUUID() };
  const call = { method: "POST", json: isOne ? bodies[0] : bodies, headers };
  const response = await callAs(world, caller, path, call);
  const judged = judgeUpserts(turn, bodies, { key, mode });
  const isNew = judged.existing[0] === undefined;
  if (isOne && isNew && mode === "only") judged.reasons.push(NOT_FOUND);
  const ok = isOne && isNew ? 201 : 200;
  if (!checkStatus(turn, request, { response, ...judged, ok }))
    return await settle(turn, request, sight.state);
  const found = response.json as Row & { rows: Row[]; results: string[] };
  const stored = isOne ? [found] : found.rows;
  const written = judged.written
    .filter((_, n) => mode !== "only" || judged.existing[n] !== undefined)
    .map((row, n) => {
      const id = row.id.startsWith("~") ? (stored[n]?.id ?? "") : row.id;
      if (id !== stored[n]?.id) fail(turn, request, "Another row was written");
      return { ...row, id };
    });
  if (written.length !== stored.length) fail(turn, request, `Got ${stored.length} rows`);
  for (const [n, result] of (found.results ?? []).entries())
    if (!judged.results[n]?.includes(result))
      fail(turn, request, `The result is ${result} instead of ${judged.results[n]}`);
  await settle(turn, request, withRows(sight.state, table.name, written));
  if (!isServer(sight)) return;
  const again = await callAs(world, caller, path, call);
  if (again.status !== response.status || again.text !== response.text)
    fail(turn, request, `The repeat gets ${again.status} ${again.text}`);
}

/** A new row, or one that exists. */
function drawSent(turn: Turn): Body {
  const { world, sight, table } = turn;
  const rows = visibleOf(sight, table);
  if (rows.length === 0 || world.random(4) > 0) return drawNew(turn);
  const row = pick(world.random, rows);
  const columns = table.columns.filter(
    (column) => column.onUpdate === undefined && !isFixed(sight, column) && !isOwn(sight, column),
  );
  return Object.fromEntries(columns.map(({ name }) => [name, row[name] ?? null]));
}

/** Some columns of a new row, mostly with the key of one that exists. */
function drawKeyed(turn: Turn, key: readonly string[]): Body {
  const { world, sight, table } = turn;
  const rows = sight.state.get(table.name) ?? [];
  const named = key.filter((name) => !isOwn(sight, columnOf(table, name)));
  const found = rows.length === 0 || world.random(5) === 0 ? undefined : pick(world.random, rows);
  const sent = Object.entries(drawNew(turn)).filter(
    ([name]) => world.random(3) > 0 || (named.includes(name) && world.random(20) > 0),
  );
  const keyed = found === undefined ? [] : named.map((name) => [name, found[name] ?? null]);
  return Object.fromEntries([...sent, ...keyed]) as Body;
}

/** Rows are as if they were sent one after the other; a row that only an earlier row allows can also be rejected. */
function judgeUpserts(
  turn: Turn,
  bodies: readonly Body[],
  { key, mode }: { key: readonly string[]; mode: Existing },
) {
  const { sight, table } = turn;
  const rows = bodies.map((body, n) => toNewRow(sight, table, body, `~${n}`));
  const seen = new Set(visibleOf(sight, table).map(({ id }) => id));
  const existing = rows
    .map((row) => findConflicts(sight, table, row, [key])[0])
    .map((row) => (mode === "only" && !seen.has(row?.id ?? "") ? undefined : row));
  const reject = (state: State, n: number) => {
    const asked = { body: bodies[n] ?? {}, existing: existing[n], key, mode };
    return rejectUpsert({ ...turn, sight: { ...sight, state } }, asked);
  };
  const written = rows.map((row, n): Row => {
    const before = existing[n];
    if (before === undefined || mode === "ignore") return before ?? row;
    return { ...before, ...withoutOwners(turn, bodies[n] ?? {}), id: before.id };
  });
  const hasTwice = (list: readonly Row[], of?: (readonly string[])[]) =>
    list.some((row) => findConflicts({ state: new Map([[table.name, list]]) }, table, row, of)[0]);
  const kept = written.filter((_, n) => existing[n] !== undefined);
  const isRepeated = hasTwice(rows, [key]);
  let { state } = sight;
  const together = rows.flatMap((_, n) => reject(state, n));
  const inTurn = written.flatMap((row, n) => {
    const reasons = reject(state, n);
    if (mode !== "only" || existing[n] !== undefined) state = withRows(state, table.name, [row]);
    return reasons;
  });
  const ofList = [
    ...(isRepeated ? [INVALID] : []),
    ...(hasTwice(mode === "only" ? kept : written) ? [CONFLICT] : []),
  ];
  const results = written.map((row, n): string[] => {
    const before = existing[n];
    if (before === undefined) return [mode === "only" ? "missing" : "created"];
    if (mode === "ignore") return ["ignored"];
    if (JSON.stringify(row) === JSON.stringify(before)) return ["unchanged"];
    const isEqual = table.columns.every(({ name, kind }) =>
      isSame({ kind }, row[name] ?? null, before[name] ?? null),
    );
    return isEqual ? ["unchanged", "updated"] : ["updated"];
  });
  const reasons = [...together, ...inTurn, ...ofList];
  return { reasons, mayPass: inTurn.length === 0 && !isRepeated, existing, written, results };
}

function withoutOwners({ sight, table }: Turn, body: Body): Body {
  const owners = new Set(
    table.columns.filter((column) => isOwn(sight, column)).map(({ name }) => name),
  );
  return Object.fromEntries(Object.entries(body).filter(([name]) => !owners.has(name))) as Record<
    string,
    Json
  >;
}

type Upsert = { body: Body; existing: Row | undefined; key: readonly string[]; mode: Existing };

/** An upsert is a read, an update and a create: the role needs all that can happen, and each row the rules of what happens to it. */
function rejectUpsert(turn: Turn, { body, existing, key, mode }: Upsert): number[] {
  const { sight, table } = turn;
  const { read, create, update } = actionsOf(sight, table);
  const isUnknown = key.some((name) => isHidden(sight, columnOf(table, name)));
  const hidden = isUnknown ? [400] : [];
  const isOnly = mode === "only";
  const isNamed =
    !isOnly || key.every((name) => body[name] !== undefined || isOwn(sight, columnOf(table, name)));
  // A body is read before the rules.
  if (read === undefined || (create === undefined && !isOnly) || update === undefined)
    return [FORBIDDEN, ...hidden, ...(isNamed ? [] : [INVALID])];
  const change = { id: existing?.id ?? "", body: withoutOwners(turn, body) };
  if (isOnly) {
    const sent = rejectColumns(sight, table, body, { isFound: existing !== undefined });
    const changed = existing === undefined ? [] : rejectUpdate(sight, table, change);
    return [...(isNamed ? [] : [INVALID]), ...sent, ...hidden, ...changed];
  }
  const columns = rejectColumns(sight, table, body);
  if (existing === undefined) return [...rejectCreate(sight, table, body), ...hidden];
  // A row that the person does not see is a conflict, as for a create.
  const isSeen = visibleOf(sight, table).some(({ id }) => id === existing.id);
  if (!isSeen) return [...columns, ...hidden, CONFLICT];
  if (mode === "ignore")
    return [...rejectColumns(sight, table, body, { isWritten: false }), ...hidden];
  return [...columns, ...hidden, ...rejectUpdate(sight, table, change)];
}
