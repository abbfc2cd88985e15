/**
 * No reader misses a change: three processes with different previews write, writers fail, connections are killed, a transaction delays
 * rows, a process stops, another switch of an app turns on and off, and readers reconnect. In the end, every reader has exactly the rows
 * of its app, and the history has each update and delete once, also those of references.
 */
import { expect, test } from "bun:test";
import type { Preview } from "../../src/preview.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type EventReader, openEvents, type StreamEvent } from "../support/event_stream.ts";
import { eventually } from "../support/eventually.ts";
import {
  type Call,
  callService,
  openTestService,
  type TestApp,
  type TestResponse,
} from "../support/service.ts";
import { openShape } from "../support/shape.ts";

const PATH = "/v1/data/db/todos";
const PROJECTS = "/v1/data/db/projects";
const SECONDS = 17;

type Row = { id: string; app_id: string };
type Change = {
  id: string;
  before: Record<string, unknown>;
  after: Record<string, unknown> | null;
  caused: boolean;
};
type Reader = { app: TestApp; rows: Map<string, string>; events: number; resets: number };

test("every reader ends with the rows of its app", async () => {
  await using service = await openTestService({
    service: { previews: ["live", "filters", "history"] },
  });
  const another = (previews: readonly Preview[]) =>
    openShape({ service: { previews } }, service.database, () => {});
  const [plainly, streaming] = [await another([]), await another(["live"])];
  const apps = [
    await service.makeApp(
      defineSchema({
        projects: { above: t.ref("projects", { onDelete: "cascade" }) },
        todos: {
          title: t.string().required(),
          tag: t.string().unique(),
          price: t.decimal(),
          project: t.ref("projects", { onDelete: "cascade" }),
          above: t.ref("todos", { onDelete: "cascade" }),
          beside: t.ref("todos", { onDelete: "set null" }),
        },
      }),
    ),
    await service.makeApp(defineSchema({ todos: { title: t.string().required() } })),
  ];
  const [linked, plain] = apps;
  if (linked === undefined || plain === undefined) throw new Error("No apps");
  for (const { slug } of apps) await setAppSwitch(service.service, slug, ["live", true]);
  await setAppSwitch(service.service, linked.slug, ["history", true]);
  const streams = [service.url, streaming.url];
  const writers = [...streams, plainly.url];
  /** Sends a write to one of the processes. Closing one may cut its last ones off, like those of a killed process. */
  const send = async (
    app: TestApp,
    path: string,
    call: Call,
  ): Promise<TestResponse | undefined> => {
    const url = pick(writers) ?? service.url;
    const response = await callService({ url, secrets: service.secrets }, app, path, call).catch(
      () => undefined,
    );
    if (response === undefined || response.status >= 500) failed++;
    else if (response.status < 300) written.set(url, (written.get(url) ?? 0) + 1);
    return response;
  };
  const pick = (ids: readonly string[]) => ids[Math.floor(Math.random() * ids.length)] ?? null;
  const written = new Map<string, number>();
  const endsAt = performance.now() + SECONDS * 1000;
  const isOver = () => performance.now() > endsAt;
  let killed = 0;
  let failed = 0;

  const created = new Set<string>();
  const projects: string[] = [];
  /** Projects below each other, with todos: a delete takes them along. */
  const writeProjects = async (): Promise<void> => {
    while (!isOver()) {
      const json = { above: Math.random() < 0.5 ? pick(projects) : null };
      const made = await send(linked, PROJECTS, { method: "POST", json });
      if (made?.status === 201) projects.push((made.json as Row).id);
      if (projects.length < 5) continue;
      const [id] = projects.splice(Math.floor(Math.random() * projects.length), 1);
      await send(linked, `${PROJECTS}/${id}`, { method: "DELETE" });
    }
  };
  const turn = async (): Promise<void> => {
    for (let isOn = true; !isOver(); isOn = !isOn) {
      await setAppSwitch(service.service, plain.slug, ["history", isOn]).catch(() => failed++);
      await Bun.sleep(300);
    }
  };

  const write = async (app: TestApp): Promise<void> => {
    const ids: string[] = [];
    while (!isOver()) {
      const id = pick(ids);
      const links = () => ({ project: pick(projects), above: pick(ids), beside: pick(ids) });
      const json = {
        title: `t${Math.random()}`,
        ...(app === linked && Math.random() < 0.5 && links()),
      };
      const roll = Math.random();
      const response =
        id === null || roll < 0.3
          ? await send(app, PATH, { method: "POST", json })
          : roll < 0.5
            ? await send(app, PATH, { method: "POST", json: [json, json, json] })
            : roll < 0.6 && app === linked
              ? await send(app, `${PATH}?onConflict=tag`, {
                  method: "POST",
                  json: [1, 2].map(() => ({
                    ...json,
                    tag: `tag${Math.floor(Math.random() * 50)}`,
                  })),
                })
              : roll < 0.8
                ? await send(app, `${PATH}/${id}`, { method: "PATCH", json })
                : await send(app, `${PATH}/${id}`, { method: "DELETE" });
      const made = response?.json as { id?: string; rows?: Row[] } | undefined;
      if (response?.status === 201) {
        const added = (made?.rows ?? [made as Row]).map((row) => row.id);
        ids.push(...added);
        if (app === linked) for (const id of added) created.add(id);
      }
    }
  };

  /** Locks rows of the app, so that other transactions commit before and after the waiting transactions. */
  const hold = async (): Promise<void> => {
    while (!isOver()) {
      await service.service.admin.message(
        "select pg_sleep(0.2) from (select id from data.todos limit 20 for update) as held",
      );
      await Bun.sleep(100);
    }
  };

  const kill = async (): Promise<void> => {
    while (!isOver()) {
      await Bun.sleep(250);
      await service.service.admin.message(`select count(pg_terminate_backend(pid)) from (
        select pid from pg_stat_activity where datname = current_database()
          and application_name in ('rowhouse', 'rowhouse data') order by random() limit 1) as one`);
      killed++;
    }
  };

  /** Reads all rows by cursor: by offset, a deleted row makes the next page miss a row. */
  const list = async (app: TestApp): Promise<Map<string, string>> => {
    const rows = new Map<string, string>();
    let after = "";
    for (;;) {
      const page = await service.call(app, `${PATH}?order=id${after}`);
      if (page.status !== 200) {
        await Bun.sleep(50);
        continue;
      }
      const { rows: found, next } = page.json as { rows: Row[]; next: string | null };
      for (const row of found) rows.set(row.id, JSON.stringify(row));
      if (next === null) return rows;
      after = `&after=${next}`;
    }
  };

  const apply = async (reader: Reader, { kind, data }: StreamEvent): Promise<void> => {
    if (kind === "changes")
      for (const change of data as { put?: Row; delete?: string }[]) {
        reader.events++;
        if (change.put) {
          expect(change.put.app_id).toBe(reader.app.id);
          reader.rows.set(change.put.id, JSON.stringify(change.put));
        } else reader.rows.delete(change.delete ?? "");
      }
    else {
      reader.resets += kind === "reset" ? 1 : 0;
      reader.rows = await list(reader.app);
    }
  };

  const readHistory = ({ id }: TestApp) =>
    service.query<Change>(
      `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true))
      select row_id as id, before, after, is_caused as caused from entered, rowhouse.row_changes
      where app_id = $1::uuid and table_name = 'todos'
      -- One request can record that it deleted a row before it records what it cleared in it.
      order by min(row_changes.id) over (partition by row_id, request), after is null, row_changes.id`,
      [id],
    );

  let isDone = false;
  const open = new Set<EventReader>();
  const read = async (reader: Reader): Promise<void> => {
    let since: string | undefined;
    while (!isDone) {
      const url = pick(streams) ?? service.url;
      const events = await openEvents(url + PATH.concat("/changes"), {
        key: reader.app.key,
        since,
      }).catch(() => undefined);
      if (events === undefined || events.response.status !== 200) {
        await Bun.sleep(100);
        continue;
      }
      open.add(events);
      const leave = isOver()
        ? undefined
        : setTimeout(() => void events.close(), Math.random() * 2000);
      for (;;) {
        const event = await events.next().catch(() => undefined);
        if (event === undefined) break;
        await apply(reader, event);
        since = event.id;
      }
      clearTimeout(leave);
      open.delete(events);
    }
  };

  const readers: Reader[] = apps.flatMap((app) =>
    [1, 2, 3].map(() => ({ app, rows: new Map(), events: 0, resets: 0 })),
  );
  const reading = readers.map(read);
  const work = [
    ...apps.flatMap((app) => [write(app), write(app), write(app)]),
    ...[writeProjects(), turn(), hold(), kill()],
  ];
  await Bun.sleep((SECONDS * 1000) / 2);
  for (const urls of [streams, writers]) urls.splice(urls.indexOf(streaming.url), 1);
  await streaming.close();
  await Promise.all(work);

  const sorted = (rows: Map<string, string>) => [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const app of apps) {
    const truth = sorted(await list(app));
    expect(truth.length).toBeGreaterThan(10);
    for (const reader of readers.filter((reader) => reader.app === app))
      await eventually(() => Bun.deepEquals(sorted(reader.rows), truth), {
        describe: () => describeDifference(reader, truth),
      });
  }
  const recorded = checkHistory(await readHistory(linked), await list(linked), created);
  isDone = true;
  await plainly.close();
  for (const events of open) await events.close();
  await Promise.all(reading);
  const events = readers.reduce((sum, reader) => sum + reader.events, 0);
  const resets = readers.reduce((sum, reader) => sum + reader.resets, 0);
  console.log(
    `${[...written.values()]} writes, ${events} events, ${resets} resets, ${killed} killed, ${failed} failed writes, ${JSON.stringify(recorded)}`,
  );
  expect(events).toBeGreaterThan(100);
  expect([...written.values()].filter((count) => count > 50)).toHaveLength(3);
}, 120_000);

/** Each value before a change is that after the one before it, the last is that of the row, and a row that is gone was deleted once. */
function checkHistory(
  changes: readonly Change[],
  rows: ReadonlyMap<string, string>,
  created: ReadonlySet<string>,
) {
  const counts = { updates: 0, deletes: 0, "set null": 0, cascades: 0 };
  const gone = new Set<string>();
  const known = new Map<string, Record<string, unknown>>();
  for (const { id, before, after, caused } of changes) {
    const values = known.get(id) ?? {};
    const earlier = Object.keys(before).filter((name) => name in values);
    expect({ id, ...pickOf(before, earlier) }).toEqual({ id, ...pickOf(values, earlier) });
    expect([id, gone.has(id)]).toEqual([id, false]);
    if (after === null) gone.add(id);
    known.set(id, { ...values, ...before, ...after });
    counts[after === null ? (caused ? "cascades" : "deletes") : caused ? "set null" : "updates"]++;
  }
  for (const [id, values] of known) {
    expect([id, rows.has(id)]).toEqual([id, !gone.has(id)]);
    if (rows.has(id)) expect(JSON.parse(rows.get(id) ?? "")).toMatchObject(values);
  }
  for (const id of created) expect([id, gone.has(id)]).toEqual([id, !rows.has(id)]);
  for (const [kind, count] of Object.entries(counts)) expect([kind, count]).not.toEqual([kind, 0]);
  return counts;
}

function pickOf(values: Record<string, unknown>, names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}

function describeDifference({ rows, resets }: Reader, truth: readonly [string, string][]): string {
  const there = new Map(truth);
  const count = (from: Iterable<[string, string]>, is: (id: string, row: string) => boolean) =>
    [...from].filter(([id, row]) => is(id, row)).length;
  return JSON.stringify({
    rows: there.size,
    missing: count(there, (id) => !rows.has(id)),
    deleted: count(rows, (id) => !there.has(id)),
    outdated: count(rows, (id, row) => there.has(id) && there.get(id) !== row),
    resets,
  });
}
