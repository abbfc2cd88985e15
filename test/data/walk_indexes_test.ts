/** Walks while the indexes of a shared table change: they use an index once it is complete, and no request fails. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const TODOS = "/v1/data/db/todos";
const ROWS = 30;
const BY_TITLE = "order=title.desc";
const BY_TIME = "done=eq.true&order=due_at.desc";

const model = t.model({
  title: t.string().required(),
  done: t.boolean().required(),
  due_at: t.timestamp().required(),
  notes: t.string(),
});
const before = defineSchema({ todos: model.index("title") });
const after = defineSchema({ todos: model.index("title").index("done", "due_at") });
/** An app with other columns has functions of its own. */
const fewer = defineSchema({
  todos: t.model({
    title: t.string().required(),
    done: t.boolean().required(),
    due_at: t.timestamp().required(),
  }),
});

/** The functions that the requests called. */
const called: string[] = [];
const proxy = await share(openPostgresProxy());
proxy.onMessage(({ type, statement }) => {
  const [, endpoint] = /(?:"todos__\w+_|rowhouse\.)(walk|find)/.exec(statement ?? "") ?? [];
  if (type === "B" && endpoint !== undefined) called.push(endpoint);
  return undefined;
});
const service = await share(
  openTestService({
    ...{ connections: 10, toServingUrl: proxy.toUrl },
    service: { previews: ["filters"] },
  }),
);
const owner = await service.makeApp(before);
const same = await service.makeApp(before);
const other = await service.makeApp(fewer);
for (const app of [owner, same, other])
  for (let n = 0; n < ROWS; n++) {
    const json = {
      title: `${app.slug} ${String(n).padStart(2, "0")}`,
      done: n % 2 === 0,
      due_at: `2026-01-${String(1 + (n % 28)).padStart(2, "0")}T00:00:00Z`,
    };
    const created = await service.call(app, TODOS, { method: "POST", json });
    expect(created.status).toBe(201);
  }

/** The titles of a page, and the functions that found it. */
async function list(app: TestApp, query: string) {
  called.length = 0;
  const { status, json } = await service.call(app, `${TODOS}?${query}&limit=9`);
  const { rows } = json as { rows: { title: string }[] };
  return { status, titles: rows.map(({ title }) => title), called: [...called] };
}

/** Sends requests of all apps until the indexes have changed. */
async function requestDuring(change: Promise<unknown>): Promise<Set<number>> {
  let isDone = false;
  const changed = change.finally(() => {
    isDone = true;
  });
  const statuses = new Set<number>();
  for (let n = 0; n < 1000 && (!isDone || n < 20); n++)
    for (const app of [owner, same, other])
      statuses.add((await list(app, n % 2 === 0 ? BY_TIME : BY_TITLE)).status);
  await changed;
  return statuses;
}

/** Only an operator can drop an index without its columns. */
async function dropIndex(): Promise<void> {
  const [index] = await service.query<{ name: string }>(
    "select indexname as name from pg_indexes where tablename = 'todos' and indexname like '%due_at%'",
  );
  if (index === undefined) throw new Error("The index does not exist");
  await service.service.admin.message(`drop index data."${index.name}"; select 1`);
}

test("an index of the whole table serves each app, with its own rows", async () => {
  for (const app of [owner, same, other]) {
    const found = await list(app, BY_TITLE);
    expect(found).toMatchObject({ status: 200, called: ["walk"] });
    expect(found.titles).toEqual(
      Array.from({ length: 9 }, (_, n) => `${app.slug} ${ROWS - 1 - n}`),
    );
  }
});

test("an index is used when it is complete, and no longer when it is dropped", async () => {
  const pages = new Map<TestApp, string[]>();
  for (const app of [owner, same, other]) {
    const found = await list(app, BY_TIME);
    expect(found).toMatchObject({ status: 200, called: ["find"], titles: { length: 9 } });
    pages.set(app, found.titles);
  }
  expect(await requestDuring(service.pushSchema(owner, after))).toEqual(new Set([200]));
  await eventually(async () => (await list(owner, BY_TIME)).called.join() === "walk");
  // An index that is added to a shared table has only the rows of the table's owner.
  for (const app of [owner, same, other]) {
    const found = await list(app, BY_TIME);
    expect(found.called).toEqual([app === owner ? "walk" : "find"]);
    expect(found.titles).toEqual(pages.get(app) ?? []);
  }
  expect(await requestDuring(dropIndex())).toEqual(new Set([200]));
  for (const app of [owner, same, other]) {
    const found = await list(app, BY_TIME);
    // The function still has the statement: a walk finds out that its index is gone.
    expect(found.called[0]).toBe(app === owner ? "walk" : "find");
    expect(found.called.at(-1)).toBe("find");
    expect(found.titles).toEqual(pages.get(app) ?? []);
  }
});
