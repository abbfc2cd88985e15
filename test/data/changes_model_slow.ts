/**
 * No reader misses a change: writers fail, connections are killed, a transaction delays rows, a process stops, and
 * readers reconnect. In the end, every reader has exactly the rows of its app.
 */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { type EventReader, openEvents, type StreamEvent } from "../support/event_stream.ts";
import { eventually } from "../support/eventually.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { openShape } from "../support/shape.ts";

const PATH = "/v1/data/db/todos";
const SECONDS = 20;

type Row = { id: string; app_id: string };
type Reader = { app: TestApp; rows: Map<string, string>; events: number; resets: number };

test("every reader ends with the rows of its app", async () => {
  const options = { service: { previews: ["live", "filters"] } } as const;
  await using service = await openTestService(options);
  const second = await openShape(options, service.database, () => {});
  const apps = [
    await service.makeApp(
      defineSchema({ todos: { title: t.string().required(), meta: t.json(), price: t.decimal() } }),
    ),
    await service.makeApp(defineSchema({ todos: { title: t.string().required() } })),
  ];
  for (const { slug } of apps) await setAppSwitch(service.service, slug, ["live", true]);
  const urls = [service.url, second.url];
  const endsAt = performance.now() + SECONDS * 1000;
  const isOver = () => performance.now() > endsAt;
  let killed = 0;
  let failed = 0;

  const write = async (app: TestApp): Promise<void> => {
    const ids: string[] = [];
    while (!isOver()) {
      const id = ids[Math.floor(Math.random() * ids.length)];
      const json = { title: `t${Math.random()}` };
      const roll = Math.random();
      const response =
        id === undefined || roll < 0.3
          ? await service.call(app, PATH, { method: "POST", json })
          : roll < 0.5
            ? await service.call(app, PATH, { method: "POST", json: [json, json, json] })
            : roll < 0.8
              ? await service.call(app, `${PATH}/${id}`, { method: "PATCH", json })
              : await service.call(app, `${PATH}/${id}`, { method: "DELETE" });
      const created = response.json as { id?: string; rows?: Row[] } | undefined;
      if (response.status === 201)
        ids.push(...(created?.rows ?? [created as Row]).map((row) => row.id));
      if (response.status >= 500) failed++;
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

  let isDone = false;
  const open = new Set<EventReader>();
  const read = async (reader: Reader): Promise<void> => {
    let since: string | undefined;
    while (!isDone) {
      const url = urls[Math.floor(Math.random() * urls.length)] ?? service.url;
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
  const work = [...apps.flatMap((app) => [write(app), write(app), write(app)]), hold(), kill()];
  await Bun.sleep((SECONDS * 1000) / 2);
  urls.pop();
  await second.close();
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
  isDone = true;
  for (const events of open) await events.close();
  await Promise.all(reading);
  const events = readers.reduce((sum, reader) => sum + reader.events, 0);
  const resets = readers.reduce((sum, reader) => sum + reader.resets, 0);
  console.log(`${events} events, ${resets} resets, ${killed} killed, ${failed} failed writes`);
  expect(events).toBeGreaterThan(100);
}, 120_000);

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
