/** The history of rows in the Console: who changed what, and restoring values and rows through the data endpoints. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { expectPage } from "../support/page_text.ts";
import {
  type Jar,
  makePerson,
  type Person,
  readHidden,
  signInAs,
  submitForm,
  toCookieHeader,
  visit,
} from "../support/people.ts";
import { freshName, postChange } from "../support/push.ts";
import { type Call, openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";
import { isFull } from "../support/tier.ts";

const SCHEMA = defineSchema({
  projects: { name: t.string().required() },
  todos: {
    title: t.string().required(),
    rank: t.integer(),
    tag: t.string().unique(),
    meta: t.json(),
    project: t.ref("projects", { onDelete: "set null" }),
    above: t.ref("todos", { onDelete: "cascade" }),
  },
  notes: { todo: t.ref("todos", { onDelete: "cascade" }) },
});
const TODOS = "/v1/data/db/todos";
const NOTES = "/v1/data/db/notes";
type Row = Record<string, unknown> & { id: string };

// A gateway in front only adds to what one process does with a request: a reduced run has only this shape.
describe.each(isFull() ? SHAPES : (["split"] as const))("in the shape %s", (shape) => {
  let service: TestService;
  let admin: Person;
  let jar: Jar;
  let app: TestApp;
  let table: string;
  beforeAll(async () => {
    service = await openTestService({
      shape,
      service: { previews: ["filters", "history"] },
      identity: () => ({ cookieDomain: "example.org" }),
    });
    admin = await makePerson(service, { consoleRole: "admin" });
    jar = await signInAs(service, admin);
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    app = await makeApp();
    table = `/console/apps/${app.slug}/tables/todos`;
  });

  async function makeApp(): Promise<TestApp> {
    const made = await service.makeApp(SCHEMA);
    await setAppSwitch(service.service, made.slug, ["history", true]);
    return made;
  }
  const send = async (to: string, call: Call = {}, status = 200) => {
    const sent = await service.call(app, to, call);
    expect({ text: sent.text, status: sent.status }).toMatchObject({ status });
    return sent;
  };
  const create = async (json: object, to = TODOS) =>
    (await send(to, { method: "POST", json }, 201)).json as Row;
  const patch = ({ id }: Row, json: object) => send(`${TODOS}/${id}`, { method: "PATCH", json });
  const remove = ({ id }: Row, to = TODOS) => send(`${to}/${id}`, { method: "DELETE" }, 204);
  const read = async ({ id }: Row) => (await send(`${TODOS}/${id}`)).json as Row;
  const open = async (path: string) => {
    const page = await visit(service, jar, path);
    expect(page.status).toBe(200);
    return page.text;
  };
  /** The addresses of the page's links to restore, as their text says. */
  const linksOf = (text: string, name: string) =>
    [...text.matchAll(/<a ([^>]*)>([^<]*)</g)].flatMap(([, attributes = "", shown = ""]) => {
      const [, address = ""] = /href="([^"]*\/restore\?[^"]*)"/.exec(attributes) ?? [];
      const [, label = shown] = /aria-label="([^"]*)"/.exec(attributes) ?? [];
      return address === "" || label !== name ? [] : [address.replaceAll("&amp;", "&")];
    });
  const linkOf = (text: string, name: string) => {
    const [link, ...others] = linksOf(text, name);
    expect({ name, others, text: link === undefined ? text : "" }).toEqual({
      name,
      others: [],
      text: "",
    });
    return link ?? "";
  };
  const submit = (path: string) => submitForm(service, jar, { path });
  const historyOf = ({ id }: Row) => open(`${table}/rows/${id}/history`);

  test("a row's page leads to its changes, with who and both values", async () => {
    const row = await create({ title: "before", rank: 1 });
    // A request can name values that remain.
    await patch(row, { title: "after", rank: 1 });
    expect(await open(table)).toContain(`${table}/history`);
    expect(await open(`${table}/rows/${row.id}`)).toContain(`${table}/rows/${row.id}/history`);
    const text = await historyOf(row);
    for (const part of ["before", "after", "title", "key"]) expect(text).toContain(part);
    expect(text).not.toContain("rank</bdi>");
  });

  test("stored JSON is restored with all its digits and the same digits", async () => {
    const rows = [await create({ title: "a" }), await create({ title: "b" })];
    const stored = '{"n": 1.10, "max": 12345678901234567890.5, "tiny": 1e-50}';
    // A double tells only the row with "tiny" from the second value below.
    const fill =
      "update data.todos set meta = $2::text::jsonb - case title when 'b' then 'tiny' else '' end where app_id = $1";
    await withDatabase(service.database.superuserUrl, (superuser) =>
      readRows(superuser, fill, [app.id, stored]),
    );
    const textsOf = () =>
      Promise.all(rows.map(async ({ id }) => (await send(`${TODOS}/${id}`)).text));
    const before = await textsOf();
    expect(before[0]).toContain('"n": 1.10');
    expect(before[0]).toContain("12345678901234567890.5");
    // Another value, the same number with other digits, and a number that a double rounds to the same.
    for (const meta of [null, { n: 1.1, max: 12345678901234567000 }]) {
      for (const row of rows) await patch(row, { meta });
      for (const row of rows) {
        // The newest change is the first.
        const [link = ""] = linksOf(await historyOf(row), "Restore meta");
        expect((await submit(link)).status).toBe(303);
      }
      expect(await textsOf()).toEqual(before);
    }
    for (const row of rows) await remove(row);
    for (const link of linksOf(await open(`${table}/history?deleted=yes`), "Restore"))
      expect((await submit(link)).status).toBe(303);
    expect(await textsOf()).toEqual(before);
  });

  test("a value is restored, and the restored value is a change of the administrator", async () => {
    const row = await create({ title: "before", rank: 1, meta: { a: 1 } });
    await patch(row, { title: "after", rank: 2, meta: { b: [2] } });
    expect((await submit(linkOf(await historyOf(row), "Restore meta"))).status).toBe(303);
    expect(await read(row)).toEqual({ ...row, title: "after", rank: 2 });
    expect(await historyOf(row)).toContain(admin.email);
  });

  test("a deleted row is restored with its id", async () => {
    const row = await create({ title: "x", rank: 3, tag: "gone", meta: null });
    expect(await open(`${table}/rows/${row.id}/delete`)).toContain(
      "The history can restore the row",
    );
    await remove(row);
    const gone = await visit(service, jar, `${table}/rows/${row.id}`);
    expect(gone.text).toContain(`${table}/history?deleted=yes`);
    const list = await open(`${table}/history?deleted=yes`);
    expect(list).toContain("gone");
    const link = linkOf(list, "Restore");
    await submit(link);
    expect(await read(row)).toEqual(row);
    // Twice restores nothing, and says why.
    expect(await open(link)).toContain("The row exists");
  });

  test("changes of one request are undone together, except rows that were changed since", async () => {
    const rows = await Promise.all(["a", "b", "c"].map((title) => create({ title, rank: 1 })));
    await send(`${TODOS}?rank=eq.1`, { method: "PATCH", json: { rank: 2, title: "all" } });
    const [first, ...others] = rows;
    if (first === undefined) throw new Error("No row");
    await patch(first, { title: "later" });
    const link = linksOf(await open(`${table}/history`), "Undo").at(-1) ?? "";
    const shown = await open(link);
    expect(shown).toContain("Changed since");
    expect(shown).toContain("Restore 2 rows");
    await submit(link);
    expect(await Promise.all(others.map(read))).toEqual(others);
    expect(await read(first)).toEqual({ ...first, title: "later", rank: 2 });
  });

  test("all rows of a request are undone, also more than a page lists, and the undo as well", async () => {
    const titles = Array.from({ length: 120 }, (_, n) => ({ title: `${n}`, rank: 1 }));
    await send(TODOS, { method: "POST", json: titles }, 201);
    await send(`${TODOS}?rank=eq.1`, { method: "PATCH", json: { rank: 2 } });
    const countDone = async () =>
      ((await send(`${TODOS}?rank=eq.2&limit=1000`)).json as { rows: Row[] }).rows.length;
    const link = linkOf(await open(`${table}/history`), "Undo");
    expect(await open(link)).toContain("Restore 120 rows");
    await submit(link);
    expect(await countDone()).toBe(0);
    const last = await visit(service, jar, `${table}/restore?from=last`);
    await submit(last.headers.get("location") ?? "");
    expect(await countDone()).toBe(120);
  });

  test("acts that follow each other are undone apart, also those of several requests", async () => {
    const rows = await Promise.all(["a", "b", "c"].map((title) => create({ title, rank: 1 })));
    const data = `/console/apps/${app.slug}/data/todos`;
    const browser = { cookie: toCookieHeader(jar), origin: service.url };
    const listed = await service.call(undefined, data, { headers: browser });
    const token = listed.headers.get("form-token") ?? "";
    const act = async (values: object, requests: readonly (readonly Row[])[], id?: string) => {
      const results = requests.map(async (ofRequest) => {
        const list = ofRequest.map((row) => ({ id: row.id, ...values }));
        const act = id === undefined ? {} : { "rows-act": id };
        const headers = { ...browser, ...act, "form-token": token };
        const sent = await service.call(undefined, data, { method: "PATCH", json: list, headers });
        expect(sent.status).toBe(200);
      });
      await Promise.all(results);
    };
    const [one, two, three] = rows.map((row) => [row]);
    if (one === undefined || two === undefined || three === undefined) throw new Error("No rows");
    // Two pastes, each of several requests, one of a single request, and two single cells.
    await act({ rank: 2 }, [one, two, three], crypto.randomUUID());
    await act({ title: "new" }, [rows], crypto.randomUUID());
    await act({ tag: null, rank: 3 }, [one, two], crypto.randomUUID());
    await act({ rank: 4 }, [one]);
    await act({ rank: 5 }, [two]);
    const links = linksOf(await open(`${table}/history`), "Undo");
    const counts = await Promise.all(
      links.map(async (link) => /Restore (\d+) row/.exec(await open(link))?.[1]),
    );
    expect(links).toHaveLength(5);
    // Two of three rows of the first act have changed since.
    expect(counts.slice(3)).toEqual(["3", "1"]);
    await submit(links[3] ?? "");
    expect((await Promise.all(rows.map(read))).map(({ title }) => title)).toEqual(["a", "b", "c"]);
    expect((await Promise.all(rows.map(read))).map(({ rank }) => rank)).toEqual([4, 5, 2]);
    // The undo of several rows is one act too, and the last one.
    const last = await visit(service, jar, `${table}/restore?from=last`);
    await submit(last.headers.get("location") ?? "");
    expect((await Promise.all(rows.map(read))).map(({ title }) => title)).toEqual(
      rows.map(() => "new"),
    );
  });

  test("a unique value that one row passed on to another comes back", async () => {
    const [giver, taker] = [await create({ title: "a", tag: "one" }), await create({ title: "b" })];
    const json = [
      { id: giver.id, tag: null },
      { id: taker.id, tag: "one" },
    ];
    await send(TODOS, { method: "PATCH", json });
    expect((await submit(linkOf(await open(`${table}/history`), "Undo"))).status).toBe(303);
    expect(await Promise.all([giver, taker].map(read))).toEqual([giver, taker]);
  });

  test("conflicts are named: a value that is taken, a reference that is gone, a row that changed meanwhile", async () => {
    const project = await create({ name: "p" }, "/v1/data/db/projects");
    const row = await create({ title: "a", tag: "one", project: project.id });
    await patch(row, { tag: "two", project: null });
    await create({ title: "b", tag: "one" });
    const history = await historyOf(row);
    expect(await open(linkOf(history, "Restore tag"))).toContain("another row</a> has now");
    const taken = await submit(linkOf(history, "Restore tag"));
    expectPage(taken, 409, "one, tag: Must be unique: another row has this tag");
    await remove(project, "/v1/data/db/projects");
    const gone = await submit(linkOf(history, "Restore project"));
    expect(gone.text).toContain("one, project: No row of projects has this id");
    expect(await read(row)).toMatchObject({ tag: "two", project: null });
    // Changed between the page and its form.
    const link = linkOf(history, "Restore the row as it was before");
    const page = await visit(service, jar, link);
    await patch(row, { title: "meanwhile" });
    const late = await visit(service, jar, link, { fields: readHidden(page.text) });
    expectPage(late, 412, "A row has changed since it was shown here");
    expect(await read(row)).toMatchObject({ title: "meanwhile", tag: "two" });
  });

  test("a preview names what cannot come back, and leads to the row to restore first", async () => {
    const project = await create({ name: "p" }, "/v1/data/db/projects");
    const row = await create({ title: "a", project: project.id });
    await remove(row);
    await remove(project, "/v1/data/db/projects");
    const link = linkOf(await open(`${table}/history?deleted=yes`), "Restore");
    const shown = await open(link);
    expect(shown).toContain("that no longer exists");
    const deleted = `/console/apps/${app.slug}/tables/projects/history?deleted=yes`;
    expect(shown).toContain(deleted);
    const first = linkOf(await open(deleted), "Restore");
    expect((await submit(first)).status).toBe(303);
    expect(await open(link)).not.toContain("that no longer exists");
    await submit(link);
    expect(await read(row)).toEqual(row);
  });

  test("a preview names a choice that was dropped since", async () => {
    const name = freshName();
    const choices = t.enum(["open", "old"]);
    const made = await service.makeApp(defineSchema({ [name]: { state: choices } }));
    await setAppSwitch(service.service, made.slug, ["history", true]);
    const list = `/v1/data/db/${name}`;
    const ids = [];
    for (const _ of [1, 2]) {
      const { json } = await service.call(made, list, { method: "POST", json: { state: "old" } });
      ids.push((json as Row).id);
    }
    const [kept, gone] = ids;
    await service.call(made, `${list}/${kept}`, { method: "PATCH", json: { state: "open" } });
    await service.call(made, `${list}/${gone}`, { method: "DELETE" });
    const rows = `/console/apps/${made.slug}/tables/${name}`;
    const links = [
      linkOf(await open(`${rows}/rows/${kept}/history`), "Restore state"),
      linkOf(await open(`${rows}/history?deleted=yes`), "Restore"),
    ];
    const says = "no longer has the choice <bdi>old</bdi>";
    for (const link of links) expect(await open(link)).not.toContain(says);
    const drop = { kind: "drop_value", table: name, column: "state", value: "old" };
    expect((await postChange(service, made, drop)).json).toMatchObject({ status: "applied" });
    for (const link of links) expect(await open(link)).toContain(says);
  });

  test("values from before a retype are named where they do not fit, and nothing is written", async () => {
    const name = freshName();
    const made = await service.makeApp(defineSchema({ [name]: { size: t.string() } }));
    await setAppSwitch(service.service, made.slug, ["history", true]);
    const list = `/v1/data/db/${name}`;
    const call = (path: string, method: string, json?: object) =>
      service.call(made, path, { method, ...(json && { json }) });
    const add = async (size: string) =>
      `${list}/${((await call(list, "POST", { size })).json as Row).id}`;
    const [kept, gone] = [await add("large"), await add("small")];
    await call(kept, "PATCH", { size: "7" });
    await call(gone, "DELETE");
    const type = { kind: "integer" };
    const retype = { kind: "retype_column", table: name, column: "size", type };
    expect((await postChange(service, made, retype)).json).toMatchObject({ status: "applied" });
    const rows = `/console/apps/${made.slug}/tables/${name}`;
    const ofKept = await open(`${rows}/rows/${kept.slice(-36)}/history`);
    const ofGone = await open(`${rows}/history?deleted=yes`);
    for (const link of [linkOf(ofKept, "Restore size"), linkOf(ofGone, "Restore")]) {
      expectPage(await submit(link), 422, "size: Must be");
    }
    expect((await call(kept, "GET")).json).toMatchObject({ size: 7 });
    expect((await call(gone, "GET")).status).toBe(404);
  });

  test("a row that another row's delete changed has a change with its cause", async () => {
    const project = await create({ name: "p" }, "/v1/data/db/projects");
    const row = await create({ title: "a", project: project.id });
    await remove(project, "/v1/data/db/projects");
    expect(await read(row)).toMatchObject({ project: null });
    const history = await historyOf(row);
    expect(history).toContain("by “on delete” of another row");
    expect(linkOf(history, "Undo this change")).toContain("/restore?");
    expect(await open(`${table}/history`)).toContain("by “on delete” of another row");
  });

  test("a restore names what went with the row, and each table restores it", async () => {
    const project = await create({ name: "gone" }, "/v1/data/db/projects");
    const [first, second] = [
      await create({ title: "a", project: project.id }),
      await create({ title: "b", project: project.id }),
    ];
    await remove(project, "/v1/data/db/projects");
    const history = `${table.replace("/todos", "/projects")}/rows/${project.id}/history`;
    const preview = linkOf(await open(history), "Restore the row");
    expect((await submit(preview)).headers.get("location")).toBe(preview);
    await patch(second, { project: null, title: "changed" });
    expect((await submit(linkOf(await open(preview), "2 rows of todos"))).status).toBe(303);
    expect(await Promise.all([first, second].map(read))).toEqual([
      first,
      { ...second, title: "changed" },
    ]);
  });

  test("a restore names what went over two levels, of its own table too, and in the order to restore", async () => {
    const top = await create({ title: "top" });
    const below = await create({ title: "below", above: top.id });
    const notes = [];
    for (const todo of [below, top, below]) notes.push(await create({ todo: todo.id }, NOTES));
    const readAll = async () => (await send(NOTES)).json;
    const before = await readAll();
    await remove(top);
    const preview = linkOf(await historyOf(top), "Restore the row");
    expect((await submit(preview)).status).toBe(303);
    const shown = await open(preview);
    const names = [...shown.matchAll(/\d rows? of \w+/g)].map(([name]) => name);
    expect(names).toEqual(["1 row of todos", "3 rows of notes"]);
    for (const name of names) expect((await submit(linkOf(shown, name))).status).toBe(303);
    expect(await Promise.all([top, below].map(read))).toEqual([top, below]);
    expect(await readAll()).toEqual(before);
  });

  test("no change of another app or table is shown or restored", async () => {
    const row = await create({ title: "mine" });
    await patch(row, { title: "changed" });
    const link = linkOf(await historyOf(row), "Undo this change");
    const other = await makeApp();
    const there = (path: string) => path.replace(`/apps/${app.slug}/`, `/apps/${other.slug}/`);
    for (const path of [link, `${table}/rows/${row.id}/history`, `${table}/history`]) {
      const text = await open(there(path));
      expect(text).not.toContain("changed</bdi>");
      expect(text).not.toContain("mine");
    }
    expect(await open(link.replace("/tables/todos/", "/tables/projects/"))).not.toContain("mine");
    const { text } = await visit(service, jar, link);
    const page = await visit(service, jar, there(link), { fields: readHidden(text) });
    expect(page.text).toContain("These changes are no longer stored");
    expect(await read(row)).toMatchObject({ title: "changed" });
  });

  test("an app's key cannot choose the id of a new row", async () => {
    const id = Bun.randomUUIDv7();
    const headers = { prefer: "ids=sent" };
    const made = await send(TODOS, { method: "POST", json: { id, title: "x" }, headers }, 201);
    expect((made.json as Row).id).not.toBe(id);
  });

  test("an app without a history says how to turn it on", async () => {
    await setAppSwitch(service.service, app.slug, ["history", false]);
    expect(await open(`${table}/history`)).toContain("set-history");
  });
});

test("without the preview, there is no page", async () => {
  await using service = await openTestService({ service: { previews: [] } });
  const app = await service.makeApp(SCHEMA);
  const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
  const page = await visit(service, jar, `/console/apps/${app.slug}/tables/todos/history`);
  expect(page.status).toBe(404);
});
