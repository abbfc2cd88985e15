/** Comparisons of gets and plain lists. @module */
import { pick } from "../random.ts";
import {
  checkSame,
  checkStatus,
  drawTurn,
  fail,
  type Turn,
  visibleIds,
  visibleOf,
  withoutApp,
} from "./play.ts";
import { actionsOf, type ModelTable, project, type Row, type Sight } from "./rules.ts";
import { callAs, pathOf, type World } from "./world.ts";
import { FORBIDDEN, NOT_FOUND } from "./writes.ts";

export const MISSING_ID = "01900000-0000-7000-8000-0000000000fe";

/** The id of a row of the table, seen or not; rarely of none. */
export function drawId({ world, rows }: Turn): string {
  return rows.length === 0 || world.random(25) === 0 ? MISSING_ID : pick(world.random, rows).id;
}

/** Why a read of a row is rejected. */
function rejectGet(sight: Sight, table: ModelTable, id: string): number[] {
  if (actionsOf(sight, table).read === undefined) return [FORBIDDEN];
  return visibleIds(sight, table).has(id) ? [] : [NOT_FOUND];
}

export async function playGet(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight, rows } = turn;
  const id = drawId(turn);
  const path = `${pathOf(table.name)}/${id}`;
  const response = await callAs(world, caller, path);
  const reasons = rejectGet(sight, table, id);
  const row = rows.find((each) => each.id === id);
  if (!checkStatus(turn, path, { response, reasons, ok: 200 })) {
    if (response.headers.get("etag") !== null) fail(turn, path, "A rejection has a tag");
    return;
  }
  if (row !== undefined)
    checkSame(turn, path, withoutApp(response.json), withoutApp(project(sight, table, row)));
  const headers = { "if-none-match": response.headers.get("etag") ?? "" };
  const again = await callAs(world, caller, path, { headers });
  if (again.status !== 304) fail(turn, path, `The current tag gets ${again.status}`);
  const head = await callAs(world, caller, path, { method: "HEAD" });
  if (head.status !== 200) fail(turn, path, `HEAD gets ${head.status}`);
}

export async function playHead(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const id = drawId(turn);
  const path = `${pathOf(table.name)}/${id}`;
  const { status } = await callAs(world, caller, path, { method: "HEAD" });
  const [wanted = 200] = rejectGet(sight, table, id);
  if (status !== wanted) fail(turn, `HEAD ${path}`, `Got ${status}, expected ${wanted}`);
}

/** Lists by offset, in pages to the end, with the tag of each page. */
export async function playList(world: World): Promise<void> {
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const seen = visibleOf(sight, table);
  const limit = pick(world.random, [1, 3, 7, 1000]);
  const isRejected = actionsOf(sight, table).read === undefined;
  const found: Row[] = [];
  for (
    let offset = world.random(4) === 0 ? world.random(5) : 0, first = offset;
    ;
    offset += limit
  ) {
    const path = `${pathOf(table.name)}?limit=${limit}&offset=${offset}`;
    const response = await callAs(world, caller, path);
    const reasons = isRejected ? [FORBIDDEN] : [];
    if (!checkStatus(turn, path, { response, reasons, ok: 200 })) return;
    const { rows, hasMore } = response.json as { rows: Row[]; hasMore: boolean };
    found.push(...rows);
    if (hasMore !== seen.length > offset + limit) fail(turn, path, `hasMore is ${hasMore}`);
    await checkTag(turn, path, response.headers.get("etag") ?? "");
    if (hasMore) continue;
    const wanted = seen.slice(first).map((row) => project(sight, table, row));
    return checkSame(turn, path, found.map(withoutApp), wanted.map(withoutApp));
  }
}

/**
 * The own tag is current; another person's request with it gets that person's page. A process that learns of pushed rules finds a page by
 * another function, with another tag, once.
 */
async function checkTag(turn: Turn, path: string, tag: string): Promise<void> {
  const { world, caller, table } = turn;
  const headers = { "if-none-match": tag };
  const own = await callAs(world, caller, path, { headers });
  const renewed = own.headers.get("etag") ?? "";
  const last =
    own.status === 200
      ? await callAs(world, caller, path, { headers: { "if-none-match": renewed } })
      : own;
  if (last.status !== 304) fail(turn, path, `The current tag gets ${last.status}`);
  const other = pick(world.random, world.callers);
  if (other.id === caller.id || actionsOf({ person: other }, table).read === undefined) return;
  const foreign = await callAs(world, other, path, { headers });
  if (foreign.status !== 200)
    fail(turn, path, `The tag of another person's page gets ${foreign.status}`);
}
