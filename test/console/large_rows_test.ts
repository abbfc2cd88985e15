/** Rows that grew beyond the body of one request: the Console restores, copies and edits them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  type Jar,
  makePerson,
  readHidden,
  signInAs,
  submitForm,
  visit,
} from "../support/people.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { SHAPES } from "../support/shape.ts";
import { isFull } from "../support/tier.ts";

const SCHEMA = defineSchema({
  notes: {
    title: t.string().required(),
    first: t.string().required(),
    second: t.string(),
    third: t.string(),
    meta: t.json(),
  },
});
const NOTES = "/v1/data/db/notes";
/** What the endpoint accepts of a key: 102,400 bytes with the name of the column. */
const LARGE = 102_000;
type Row = Record<string, unknown> & { id: string };

// A gateway in front only adds to what one process does with a request: a reduced run has only this shape.
describe.each(isFull() ? SHAPES : (["split"] as const))("in the shape %s", (shape) => {
  let service: TestService;
  let jar: Jar;
  let app: TestApp;
  let table: string;
  beforeAll(async () => {
    service = await openTestService({
      shape,
      service: { previews: ["filters", "history"], maxResponseBytes: 1_000_000 },
      identity: () => ({ cookieDomain: "example.org" }),
    });
    jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    app = await service.makeApp(SCHEMA);
    await setAppSwitch(service.service, app.slug, ["history", true]);
    table = `/console/apps/${app.slug}/tables/notes`;
  });

  const send = async (path: string, method: string, json?: object) => {
    const sent = await service.call(app, path, { method, ...(json && { json }) });
    expect(sent.status < 300 ? "" : sent.text).toBe("");
    return sent.json as Row;
  };
  const read = ({ id }: Row) => send(`${NOTES}/${id}`, "GET");
  const patch = (row: Row, json: object) => send(`${NOTES}/${row.id}`, "PATCH", json);
  const remove = ({ id }: Row) => send(`${NOTES}/${id}`, "DELETE");
  /** Each column by its own request; PostgreSQL writes the list with spaces. */
  const createLarge = async (title: string) => {
    const row = await send(NOTES, "POST", { title, first: "1".repeat(LARGE) });
    await patch(row, { second: "é".repeat(LARGE / 2) });
    await patch(row, { third: "\n".repeat(LARGE / 2) });
    return await patch(row, { meta: Array.from({ length: 40_000 }, () => 1) });
  };
  const linkOf = async (path: string, name: string) => {
    const { text } = await visit(service, jar, path);
    const links = [...text.matchAll(/<a [^>]*href="([^"]*\/restore\?[^"]*)"[^>]*>([^<]*)</g)];
    const [, address = ""] = links.find(([, , shown]) => shown === name) ?? [];
    return address.replaceAll("&amp;", "&");
  };
  const restore = async (path: string, name: string) => {
    const done = await submitForm(service, jar, { path: await linkOf(path, name) });
    expect({ status: done.status, text: done.status === 303 ? "" : done.text }).toEqual({
      status: 303,
      text: "",
    });
  };

  test("a deleted row is restored, alone and with others of its request", async () => {
    const first = await createLarge("a");
    const rows = [first, await send(NOTES, "POST", { title: "b", first: "1".repeat(LARGE) })];
    await remove(first);
    await restore(`${table}/history?deleted=yes`, "Restore");
    expect(await read(first)).toEqual(first);
    await send(`${NOTES}?title=in.(a,b)`, "DELETE");
    await restore(`${table}/history?deleted=yes`, "Restore");
    expect(await Promise.all(rows.map(read))).toEqual(rows);
  });

  test("an update of all columns is undone in one step", async () => {
    const row = await createLarge("a");
    await patch(row, { first: "", second: "", third: "", meta: null });
    await restore(`${table}/rows/${row.id}/history`, "Undo this change");
    expect(await read(row)).toEqual(row);
  });

  test("an update of rows that are together larger than a response is undone", async () => {
    const rows: Row[] = [];
    for (let n = 0; n < 12; n++)
      rows.push(await send(NOTES, "POST", { title: "a", first: `${n}`.padEnd(LARGE) }));
    await send(`${NOTES}?title=eq.a`, "PATCH", { second: "b" });
    await restore(`${table}/history`, "Undo");
    expect(await Promise.all(rows.map(read))).toEqual(rows);
  });

  test("a row is duplicated, with the values that the form does not have", async () => {
    const { id, app_id, ...values } = await createLarge("a");
    const done = await submitForm(service, jar, {
      path: `${table}/new?like=${id}`,
      typed: { "value.title": "copy" },
    });
    expect(done.status).toBe(303);
    const added = new URL(done.headers.get("location") ?? "", service.url).searchParams.get(
      "added",
    );
    const copy = await send(`${NOTES}/${added}`, "GET");
    expect(copy).toEqual({ ...values, id: copy.id, app_id, title: "copy" });
  });

  test.each([
    { name: "line ends", text: "\n" },
    { name: "characters that only browsers escape", text: "(" },
    { name: "three bytes for each character", text: "語" },
  ])("the form of a row saves one value beside a large one: $name", async ({ text }) => {
    const first = text.repeat(
      Math.floor(LARGE / Buffer.byteLength(JSON.stringify(text).slice(1, -1))),
    );
    const row = await send(NOTES, "POST", { title: "a", first });
    const path = `${table}/rows/${row.id}`;
    const page = await visit(service, jar, path);
    const fields = readHidden(page.text);
    const shown = /<textarea id="value\.first"[^>]*>([^<]*)</.exec(page.text)?.[1];
    expect(shown?.length).toBeGreaterThan(0);
    // As browsers send the lines of a text.
    const sent = first.replaceAll("\n", "\r\n");
    const done = await visit(service, jar, path, {
      fields: { ...fields, "value.title": "b", "value.first": sent },
    });
    expect(done.status).toBe(303);
    expect(await read(row)).toEqual({ ...row, title: "b" });
  });

  test("the grid's path writes back a value that PostgreSQL writes with more bytes", async () => {
    const row = await createLarge("a");
    const { headers, text } = await service.call(
      undefined,
      `/console/apps/${app.slug}/data/notes/${row.id}`,
      { headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") } },
    );
    const [, meta = ""] = /"meta":(\[.*?\])/.exec(text) ?? [];
    expect(meta.length).toBeGreaterThan(LARGE);
    await patch(row, { meta: null });
    const { etag } = await visit(service, jar, `${table}/rows/${row.id}`).then(({ text: page }) =>
      readHidden(page),
    );
    const sent = await service.call(undefined, `/console/apps/${app.slug}/data/notes/${row.id}`, {
      method: "PATCH",
      headers: {
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; "),
        origin: service.url,
        "form-token": headers.get("form-token") ?? "",
        "if-match": etag ?? "",
        "content-type": "application/json",
      },
      body: `{"meta":${meta}}`,
    });
    expect(sent.status).toBe(200);
    expect(await read(row)).toEqual(row);
  });

  test("a key keeps the limit of a body", async () => {
    const body = JSON.stringify([{ title: "a", first: "x".repeat(103_000) }]);
    const headers = { "content-type": "application/json" };
    const sent = await service.call(app, NOTES, { method: "POST", body, headers });
    expect(sent.json).toMatchObject({ error: "body_too_large" });
  });
});
