/** The pages of a history: requests that ran at the same time, whose rows alternate, are listed and undone as wholes. */
import { beforeEach, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makePerson, signInAs, submitForm, visit } from "../support/people.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const SCHEMA = defineSchema({ todos: { title: t.string(), rank: t.integer() } });
const TODOS = "/v1/data/db/todos";
/** Ids of changes of a service that has run for years. */
const FIRST_ID = 1_000_000_000;

let app: TestApp;
let table: string;
const service = await share(openTestService({ service: { previews: ["filters", "history"] } }));
const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
beforeEach(async () => {
  app = await service.makeApp(SCHEMA);
  await setAppSwitch(service.service, app.slug, ["history", true]);
  table = `/console/apps/${app.slug}/tables/todos`;
});

const send = async (path: string, method: string, json?: object) => {
  const sent = await service.call(app, path, { method, ...(json && { json }) });
  expect(sent.status < 300 ? "" : sent.text).toBe("");
  return sent.json as { rows: { rank: number; title: string }[] };
};

/** Requests in this order, each with its own title, as if the n-th last changes of all were recorded in turn. */
async function updateInTurn(requests: readonly { title: string; rows: number }[]): Promise<void> {
  for (const [rank, { title, rows }] of requests.entries()) {
    const json = Array.from({ length: rows }, () => ({ title: "before", rank }));
    await send(TODOS, "POST", json);
    await send(`${TODOS}?rank=eq.${rank}`, "PATCH", { title });
  }
  await service.service.admin.message(`set rowhouse.app_id = '${app.id}';
    with ranked as (
      select id, dense_rank() over (order by changed_at) as place,
        row_number() over (partition by changed_at order by id) as n
      from rowhouse.row_changes where app_id = '${app.id}')
    update rowhouse.row_changes as change set id = ${FIRST_ID} + 10 * n + place
    from ranked where change.app_id = '${app.id}' and change.id = ranked.id;
    reset rowhouse.app_id; select 1`);
}

const open = async (path: string) => {
  const page = await visit(service, jar, path);
  expect(page.status).toBe(200);
  return page.text;
};
const linksOf = (text: string, name: string) =>
  [...text.matchAll(/<a [^>]*href="([^"]*)"[^>]*>([^<]*)</g)].flatMap(([, to = "", shown]) =>
    shown === name ? [to.replaceAll("&amp;", "&")] : [],
  );
const countRows = (text: string) => Number(/Restore (\d+) rows?</.exec(text)?.[1]);

test("each request is listed once and as a whole, whatever page it crosses", async () => {
  // The first change of "short" and "early" is below the first page, between those of the others.
  await updateInTurn([
    { title: "early", rows: 3 },
    { title: "short", rows: 40 },
    { title: "a", rows: 120 },
    { title: "b", rows: 110 },
  ]);
  const counts: number[][] = [];
  const undo = new Map<number, string>();
  let older = [`${table}/history`];
  for (let [path] = older; path !== undefined; [path] = older) {
    const text = await open(path);
    const rows: number[] = [];
    for (const link of linksOf(text, "Undo")) {
      const count = countRows(await open(link));
      undo.set(count, link);
      rows.push(count);
    }
    counts.push(rows);
    older = linksOf(text, "Older");
  }
  expect(counts[0]).toEqual([120, 110]);
  expect(counts.flat()).toEqual([120, 110, 40, 3]);
  expect((await submitForm(service, jar, { path: undo.get(110) ?? "" })).status).toBe(303);
  const titles = Map.groupBy((await send(`${TODOS}?limit=1000`, "GET")).rows, (row) => row.title);
  const left = [...titles].map(([title, { length }]) => [title, length]).toSorted();
  expect(left).toEqual([
    ["a", 120],
    ["before", 110],
    ["early", 3],
    ["short", 40],
  ]);
});

test("the address to undo 1,000 rows that alternate with another request is short", async () => {
  await updateInTurn([
    { title: "a", rows: 1000 },
    { title: "b", rows: 1000 },
  ]);
  const links = linksOf(await open(`${table}/history`), "Undo");
  expect(links).toHaveLength(2);
  // Proxies accept a line of 8 KB.
  expect(Math.max(...links.map(({ length }) => length))).toBeLessThan(8000);
  expect(countRows(await open(links[0] ?? ""))).toBe(1000);
});
