/** Comparisons of writes of rows by their ids. Every write is followed by a comparison of all rows of the app. @module */
import { pick } from "../random.ts";
import { drawChange, drawNew } from "./draw_body.ts";
import {
  checkStatus,
  checkWritten,
  drawTurn,
  fail,
  settle,
  type Turn,
  visibleIds,
} from "./play.ts";
import { drawId } from "./play_reads.ts";
import type { ModelTable, Row, Sight } from "./rules.ts";
import { type Caller, callAs, pathOf, type World } from "./world.ts";
import {
  type Body,
  findDoomed,
  rejectCreate,
  rejectDelete,
  rejectUpdate,
  toNewRow,
  type Update,
  withoutRows,
  withRows,
} from "./writes.ts";

const post = (world: World, caller: Caller, table: ModelTable, json: unknown, headers = {}) =>
  callAs(world, caller, pathOf(table.name), { method: "POST", json, headers });

export async function playCreate(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const body = drawNew(turn);
  const response = await post(world, caller, table, body);
  const reasons = rejectCreate(sight, table, body);
  const isDone = checkStatus(turn, body, { response, reasons, ok: 201 });
  await settleNew(turn, body, isDone ? [{ body, row: response.json as Row }] : []);
}

type Created = { body: Body; row: Row };

/** Compares the created rows with the responses and with the stored rows. */
async function settleNew(turn: Turn, request: unknown, created: readonly Created[]): Promise<void> {
  const { world, table, sight } = turn;
  const rows = created.map(({ body, row }) => toNewRow(sight, table, body, row.id));
  await settle(turn, request, withRows(world.state, table.name, rows));
  for (const { row } of created)
    checkWritten(
      turn,
      request,
      row,
      world.state.get(table.name)?.find(({ id }) => id === row.id) ?? row,
    );
}

/** All rows of a batch, or none. */
export async function playCreateMany(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table } = turn;
  const bodies = Array.from({ length: 1 + world.random(4) }, () => drawNew(turn));
  const response = await post(world, caller, table, bodies);
  const isDone = checkStatus(turn, bodies, { response, ...judgeBatch(turn, bodies), ok: 201 });
  const isWrong = (position: number) =>
    rejectInBatch(turn.sight, table, { bodies, position }).length > 0 ||
    rejectCreate(turn.sight, table, bodies[position] ?? {}).length > 0;
  if (!isDone) checkRow(turn, bodies, { json: response.json, isWrong });
  const rows = isDone ? (response.json as { rows: Row[] }).rows : [];
  const created = rows.map((row, index) => ({ body: bodies[index] ?? {}, row }));
  await settleNew(turn, bodies, created);
}

type Reasons = { readonly reasons: readonly number[]; readonly mayPass: boolean };

/**
 * Rows are as if they were sent one after the other. A row that only an earlier row of the list allows can also be rejected: that
 * row is checked first against the rows before the list.
 */
function judgeBatch({ sight, table }: Turn, bodies: readonly Body[]): Reasons {
  const together = bodies.flatMap((body) => rejectCreate(sight, table, body));
  const inTurn = bodies.flatMap((_, position) => rejectInBatch(sight, table, { bodies, position }));
  return { reasons: [...together, ...inTurn], mayPass: inTurn.length === 0 };
}

function rejectInBatch(
  sight: Sight,
  table: ModelTable,
  { bodies, position }: { bodies: readonly Body[]; position: number },
): number[] {
  const body = bodies[position];
  if (body === undefined) return [];
  const others = bodies.slice(0, position).map((each, n) => toNewRow(sight, table, each, `~${n}`));
  const state = withRows(sight.state, table.name, others);
  return rejectCreate({ ...sight, state }, table, body);
}

/** An error of a list names a row that is wrong. */
function checkRow(
  turn: Turn,
  request: unknown,
  { json, isWrong }: { json: unknown; isWrong: (row: number) => boolean },
): void {
  const { details = [], error } = json as { details?: { path: string }[]; error: string };
  // A role without the action has no wrong row.
  const isOfRole = error === "forbidden" && details.length === 0;
  if (isOfRole) return;
  for (const { path } of details) {
    const position = Number(path.split("/")[1]);
    if (!Number.isInteger(position) || !isWrong(position))
      fail(
        turn,
        request,
        `The error names the row ${path}, which is not wrong: ${JSON.stringify(json)}`,
      );
  }
}

/** Creates of several people at once, which share statements by person. */
export async function playGroup(world: World): Promise<void> {
  const first = drawTurn(world);
  const { table } = first;
  const turns = Array.from({ length: 8 }, () => ({
    ...first,
    ...ofCaller(world, first, pick(world.random, world.callers)),
  }));
  const bodies = turns.map((turn) => drawNew(turn));
  const before = world.state;
  const responses = await Promise.all(
    turns.map(({ caller }, n) => post(world, caller, table, bodies[n])),
  );
  const rowOf = (n: number): Row[] => {
    const { status, json } = responses[n] ?? {};
    if (status !== 201) return [];
    return [toNewRow((turns[n] ?? first).sight, table, bodies[n] ?? {}, (json as Row).id)];
  };
  const created = responses.flatMap((response, n): Row[] => {
    const turn = turns[n] ?? first;
    const body = bodies[n] ?? {};
    // The other rows can come first: with the same unique value, or as the membership that allows this row.
    const others = responses.flatMap((_, other) => (other === n ? [] : rowOf(other)));
    const [alone, last] = [before, withRows(before, table.name, others)].map((state) =>
      rejectCreate({ ...turn.sight, state }, table, body),
    );
    const mayPass = alone?.length === 0 || last?.length === 0;
    const reasons = [...(alone ?? []), ...(last ?? [])];
    return checkStatus(turn, body, { response, reasons, ok: 201, mayPass }) ? rowOf(n) : [];
  });
  await settle(first, bodies, withRows(before, table.name, created));
  for (const [n, response] of responses.entries()) {
    if (response.status !== 201) continue;
    const turn = turns[n] ?? first;
    const { id } = response.json as Row;
    // Another row of the group can be the membership by which the person reads this one.
    const alone = { ...turn.sight, state: withRows(before, table.name, rowOf(n)) };
    const sawBefore = visibleIds(alone, table).has(id);
    checkWritten(turn, bodies[n], response.json, response.json as Row, sawBefore);
  }
}

function ofCaller(world: World, turn: Turn, caller: Caller): Pick<Turn, "caller" | "sight"> {
  return { caller, sight: { ...turn.sight, person: caller, state: world.state } };
}

/** The tag of a row as the person reads it; a tag of another state; or no tag. */
async function drawMatch(
  turn: Turn,
  id: string,
): Promise<{ isMatch?: boolean; headers: Record<string, string> }> {
  const { world, caller, table } = turn;
  const kind = world.random(6);
  if (kind > 1) return { headers: {} };
  if (kind === 1) return { isMatch: false, headers: { "if-match": `"${"0".repeat(32)}"` } };
  const { headers } = await callAs(world, caller, `${pathOf(table.name)}/${id}`);
  const tag = headers.get("etag");
  return tag === null ? { headers: {} } : { isMatch: true, headers: { "if-match": tag } };
}

export async function playUpdate(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight, rows } = turn;
  const id = drawId(turn);
  const body = drawChange(turn);
  const { headers, ...match } = await drawMatch(turn, id);
  const request = { update: id, body, ...match, row: rows.find((row) => row.id === id) };
  const path = `${pathOf(table.name)}/${id}`;
  const response = await callAs(world, caller, path, { method: "PATCH", json: body, headers });
  const reasons = rejectUpdate(sight, table, { id, body, ...match });
  const isDone = checkStatus(turn, request, { response, reasons, ok: 200 });
  await settleChanged(turn, request, isDone ? [{ id, body, found: response.json }] : []);
}

type Changed = { id: string; body: Body; found: unknown };

async function settleChanged(
  turn: Turn,
  request: unknown,
  changed: readonly Changed[],
): Promise<void> {
  const { world, table, rows } = turn;
  const after = changed.flatMap(({ id, body }): Row[] => {
    const row = rows.find((each) => each.id === id);
    return row === undefined ? [] : [{ ...row, ...body, id }];
  });
  await settle(turn, request, withRows(world.state, table.name, after));
  for (const [n, { found }] of changed.entries()) {
    const row = after[n];
    if (row !== undefined) checkWritten(turn, request, found, row);
  }
}

/** All rows of a list, or none. */
export async function playUpdateMany(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table } = turn;
  const ids = [...new Set(Array.from({ length: 1 + world.random(3) }, () => drawId(turn)))];
  const changes: (Update & { ifMatch?: string })[] = [];
  for (const id of ids) {
    const { headers, ...match } = await drawMatch(turn, id);
    const tag = headers["if-match"];
    const ifMatch = tag === undefined ? {} : { ifMatch: tag };
    changes.push({ id, body: drawChange(turn), ...match, ...ifMatch });
  }
  const sent = changes.map(({ id, body, ifMatch }) => ({
    ...{ id, ...body },
    ...(ifMatch === undefined ? {} : { ifMatch }),
  }));
  const response = await callAs(world, caller, pathOf(table.name), { method: "PATCH", json: sent });
  const isDone = checkStatus(turn, sent, { response, ...judgeChanges(turn, changes), ok: 200 });
  const found = isDone ? (response.json as { rows: unknown[] }).rows : [];
  await settleChanged(
    turn,
    sent,
    found.map((row, n) => ({ id: ids[n] ?? "", body: changes[n]?.body ?? {}, found: row })),
  );
}

export function judgeChanges(
  { sight, table, rows }: Turn,
  changes: readonly Update[],
): Reasons & { readonly passesTogether: boolean } {
  let { state } = sight;
  const together = changes.flatMap((change) => rejectUpdate(sight, table, change));
  const inTurn = changes.flatMap((change) => {
    const reasons = rejectUpdate({ ...sight, state }, table, change);
    const row = rows.find(({ id }) => id === change.id);
    if (row !== undefined)
      state = withRows(state, table.name, [{ ...row, ...change.body, id: row.id }]);
    return reasons;
  });
  const mayPass = inTurn.length === 0;
  return { reasons: [...together, ...inTurn], mayPass, passesTogether: together.length === 0 };
}

export async function playDelete(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const id = drawId(turn);
  const { headers, ...match } = await drawMatch(turn, id);
  const request = { delete: id, ...match };
  const path = `${pathOf(table.name)}/${id}`;
  const response = await callAs(world, caller, path, { method: "DELETE", headers });
  const reasons = rejectDelete(sight, table, { id, ...match });
  const doomed = findDoomed(sight, table, [id]);
  const isTie = doomed.isTied && response.status === 409;
  const isDone = isTie ? false : checkStatus(turn, request, { response, reasons, ok: 204 });
  await settle(turn, request, isDone ? withoutRows(sight, doomed.ids) : sight.state);
}

/** The same key again: the first response for the same person, a write of its own for another. */
export async function playRepeat(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const body = drawNew(turn);
  const headers = { "idempotency-key": crypto.randomUUID() };
  const response = await post(world, caller, table, body, headers);
  const reasons = rejectCreate(sight, table, body);
  const isDone = checkStatus(turn, body, { response, reasons, ok: 201 });
  await settleNew(turn, body, isDone ? [{ body, row: response.json as Row }] : []);
  if (isDone) {
    const again = await post(world, caller, table, body, headers);
    if (again.text !== response.text || again.headers.get("idempotency-replayed") !== "true")
      fail(turn, body, `The repeat gets ${again.status} ${again.text}`);
  }
  const other = pick(world.random, world.callers);
  if (other.id === caller.id) return;
  const next: Turn = { ...turn, ...ofCaller(world, turn, other) };
  const answer = await post(world, other, table, body, headers);
  if (answer.headers.get("idempotency-replayed") !== null)
    fail(next, body, `Another person's key is replayed: ${answer.text}`);
  const own = rejectCreate(next.sight, table, body);
  const isWritten = checkStatus(next, body, { response: answer, reasons: own, ok: 201 });
  await settleNew(next, body, isWritten ? [{ body, row: answer.json as Row }] : []);
}
