/** Comparisons of event streams: a reader ends with the rows that the person sees, and learns of no others. @module */
import { setAppSwitch } from "../../../src/records/apps/mod.ts";
import { openEvents } from "../event_stream.ts";
import { eventually } from "../eventually.ts";
import { pick } from "../random.ts";
import { drawNew } from "./draw_body.ts";
import { drawTurn, fail, type Turn, toTurn, visibleOf, withoutApp } from "./play.ts";
import { actionsOf, project, type Row } from "./rules.ts";
import { callAs, pathOf, readState, sightOf, type World } from "./world.ts";
import { toNewRow } from "./writes.ts";

type Change = { put?: Row; delete?: string };
/** A list of rows in a stream's order. */
type Reader = { rows: Map<string, string>; text: string; kinds: string[] };
const WRITES = 5;

/** Follows a table while the app's server writes to it. */
export async function playChanges(world: World): Promise<void> {
  await setAppSwitch(world.service.service, world.app.slug, ["live", true]);
  const turn = drawTurn(world);
  const { caller, table, sight } = turn;
  const url = `${world.service.url}${pathOf(table.name)}/changes`;
  const events = await openEvents(url, { key: caller.key });
  const { status } = events.response;
  const wanted = actionsOf(sight, table).read === undefined ? 403 : 200;
  if (status !== wanted) fail(turn, url, `The stream gets ${status}, expected ${wanted}`);
  if (wanted === 403) return await events.close();
  const reader: Reader = { rows: new Map(), text: "", kinds: [] };
  const following = follow(turn, reader, events.next);
  await eventually(() => reader.kinds.length > 0, {
    describe: () => "The stream has no first event",
  });
  const [all, seen] = [new Set<string>(), new Set<string>()];
  const remember = () => {
    for (const { id } of world.state.get(table.name) ?? []) all.add(id);
    for (const { id } of visibleNow(turn)) seen.add(id);
  };
  remember();
  for (let n = 0; n < WRITES; n++) {
    await writeAsServer(turn);
    remember();
  }
  const expected = () => visibleNow(turn).map((row) => JSON.stringify(withoutApp(row)));
  const isUpToDate = () => isSame([...reader.rows.values()], expected());
  const isReached = await eventually(isUpToDate).then(
    () => true,
    () => isUpToDate(),
  );
  if (!isReached)
    fail(turn, url, `The reader has ${[...reader.rows.values()]} instead of ${expected()}`);
  await events.close();
  await following;
  for (const id of all)
    if (!seen.has(id) && reader.text.includes(id))
      fail(turn, url, `An event names the invisible row ${id}`);
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.toSorted().join() === b.toSorted().join();
}

function visibleNow({ world, caller, table }: Turn): Row[] {
  const sight = sightOf(world, caller);
  return visibleOf(sight, table).map((row) => project(sight, table, row));
}

async function follow(
  turn: Turn,
  reader: Reader,
  next: Awaited<ReturnType<typeof openEvents>>["next"],
): Promise<void> {
  const { world, caller, table } = turn;
  for (;;) {
    const event = await next().catch(() => undefined);
    if (event === undefined) return;
    reader.text += JSON.stringify(event.data);
    if (event.kind === "changes")
      for (const { put, delete: gone } of event.data as Change[]) {
        if (put !== undefined) reader.rows.set(put.id, JSON.stringify(withoutApp(put)));
        if (gone !== undefined) reader.rows.delete(gone);
      }
    else {
      const { json } = await callAs(world, caller, pathOf(table.name));
      const { rows } = json as { rows: Row[] };
      reader.rows = new Map(rows.map((row) => [row.id, JSON.stringify(withoutApp(row))]));
    }
    reader.kinds.push(event.kind);
  }
}

/** Creates, changes or deletes a row of anybody. */
async function writeAsServer(turn: Turn): Promise<void> {
  const { world, table } = turn;
  const { random, service, app } = world;
  const rows = world.state.get(table.name) ?? [];
  const as = pick(random, world.callers);
  const { id: _, ...json } = toNewRow(sightOf(world, as), table, drawNew(toTurn(world, as, table)));
  const path = pathOf(table.name);
  const kind = random(3);
  if (kind === 0 || rows.length === 0) await service.call(app, path, { method: "POST", json });
  else if (kind === 1)
    await service.call(app, `${path}/${pick(random, rows).id}`, { method: "PATCH", json });
  else await service.call(app, `${path}/${pick(random, rows).id}`, { method: "DELETE" });
  world.state = await readState(world);
}
