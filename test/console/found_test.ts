/** What was expected and what was found in the fields of a rejected request, without its values. */
import { expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { KINDS } from "../../src/kinds/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { classify, FOUND } from "../../src/std/found.ts";
import { eventually } from "../support/eventually.ts";
import { makePerson, signInAs, visit } from "../support/people.ts";
import { openTestService, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

const LIST = "/v1/data/db/things";
const SCHEMA = defineSchema({
  owners: { name: t.string() },
  things: {
    code: t.string().unique(),
    needed: t.string().required(),
    string: t.string(),
    email: t.email(),
    url: t.url(),
    integer: t.integer(),
    number: t.number(),
    decimal: t.decimal(),
    boolean: t.boolean(),
    date: t.date(),
    timestamp: t.timestamp(),
    enum: t.enum(["EUR", "USD"]),
    uuid: t.uuid(),
    ref: t.ref("owners"),
    json: t.json(),
  },
});

const EXPECTED: Readonly<Record<(typeof KINDS)[number] | "needed", string>> = {
  needed: "a text",
  string: "a text",
  email: "an email address, such as ada@example.org",
  url: "an absolute http or https URL, such as https://example.org/path",
  integer: "a whole number",
  number: "a number",
  decimal: "a decimal number as a text, such as “12.50”",
  boolean: "true or false",
  date: "an existing date, such as 2026-01-31",
  timestamp: "an existing date and time with an offset, such as 2026-01-31T09:00:00Z",
  enum: "one of EUR, USD",
  uuid: "an id",
  ref: "the id of a row of owners",
  json: "JSON that can be stored",
};

/** A part of every sent text and name. */
const SECRET = "secret";
const NO_ID = "01999999-0000-7000-8000-5ec2e7000000";

/** The fields of a body, each with what is found in it. */
const BODIES: readonly Record<string, readonly [value: unknown, found: string]>[] = [
  {
    needed: [null, "null"],
    string: [17_431_743, "a whole number"],
    email: [`${SECRET}@x`, "a text of up to 10 characters"],
    url: [`ftp://${SECRET}`, "a text of up to 100 characters"],
    integer: [1743.25, "a decimal number"],
    number: ["17431743", "a text that looks like a number"],
    decimal: [17_431_743, "a whole number"],
    boolean: ["TRUE", "a text that looks like true or false"],
    date: ["31.12.1743", "a text that looks like a date"],
    timestamp: ["1743-12-31 09:30", "a text that looks like a date and time"],
    enum: [SECRET, "a text of up to 10 characters"],
    uuid: [`${SECRET}-longer-than-ten`, "a text of up to 100 characters"],
    ref: [SECRET.repeat(20), "a text of up to 1,000 characters"],
    json: [`${SECRET}\u0000`, "a text with characters that cannot be stored"],
  },
  {
    needed: [[SECRET], "a list"],
    string: [{ [SECRET]: SECRET }, "an object"],
    email: [[SECRET], "a list"],
    url: ["", "an empty text"],
    integer: ["", "an empty text"],
    number: ["   ", "a text of spaces"],
    decimal: ["1e17", "a text that looks like a number"],
    boolean: [1, "a whole number"],
    date: [`${SECRET} `.repeat(200), "a text of more than 1,000 characters"],
    timestamp: [true, "true or false"],
    enum: [NO_ID, "a text that looks like an id"],
    uuid: [["x"], "a list"],
    ref: [false, "true or false"],
    json: [{ [`${SECRET}\u0000`]: 1 }, "an object"],
  },
];

let ahead = 0;
const service = await share(
  openTestService({
    identity: () => ({ cookieDomain: "example.org" }),
    service: { now: () => Date.now() + ahead, previews: ["filters"] },
  }),
);
const app = await service.makeApp(SCHEMA);
const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));

const toId = (response: TestResponse) => response.headers.get("x-request-id") ?? "";
const readPage = async (id: string) => {
  const { status, text } = await visit(service, jar, `/console/requests/${id}`);
  return { status, text: text.replaceAll(/<[^>]+>/g, "") };
};
async function explain(response: TestResponse): Promise<string> {
  ahead += 60_000;
  await eventually(async () => (await readPage(toId(response))).status === 200);
  return (await readPage(toId(response))).text;
}

async function readStored(): Promise<{ text: string; found: string[] }[]> {
  return await service.query(`select to_jsonb(stored)::text as text, to_json(found) as found
    from rowhouse.stored_requests as stored order by at, id`);
}

const sendFields = (json: unknown, init: { method?: string; path?: string } = {}) =>
  service.call(app, init.path ?? LIST, { method: init.method ?? "POST", json });

/** No sent value is in a text. The ids of requests can contain its digits by chance. */
function expectNoneOf(text: string): void {
  for (const sent of [SECRET, NO_ID]) expect(text).not.toContain(sent);
  expect(text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "")).not.toContain("1743");
}

test("each kind of column has a sentence for what was expected and found, and no value is stored or returned", async () => {
  for (const fields of BODIES) {
    const names = Object.keys(fields);
    expect(names.sort()).toEqual([...KINDS, "needed"].sort());
    const values = Object.entries(fields).map(([name, [value]]) => [name, value]);
    const response = await sendFields(Object.fromEntries(values));
    expect(response.status).toBe(422);
    expect(response.json).toEqual(expect.objectContaining({ error: "validation_failed" }));
    expect(Object.keys(response.json as object).sort()).toEqual(
      ["details", "error", "message", "requestId"].sort(),
    );
    for (const detail of (response.json as { details: object[] }).details)
      expect(Object.keys(detail)).toEqual(["path", "message"]);
    const page = await explain(response);
    for (const [name, [, found]] of Object.entries(fields))
      expect(page).toContain(
        `${name}: expected ${EXPECTED[name as keyof typeof EXPECTED]}, found ${found}`,
      );
    expectNoneOf(page);
  }
  for (const { text } of await readStored()) expectNoneOf(text);
});

test("numbers that JavaScript would round, missing values and ids of no row are found", async () => {
  const response = await service.call(app, LIST, {
    method: "POST",
    body: '{"integer": 12345678901234567890, "number": 0.12345678901234567890}',
    headers: { "content-type": "application/json" },
  });
  const page = await explain(response);
  for (const text of [
    "needed: expected a text, found no value",
    "integer: expected a whole number, found a number with too many digits",
    "number: expected a number, found a number with too many digits",
  ])
    expect(page).toContain(text);
  expect(await explain(await sendFields({ needed: "x", ref: NO_ID }))).toContain(
    "ref: expected the id of a row of owners, found an id that no row has",
  );
});

test("the rows of a batch, of an upsert and of updates are named, and a duplicate value is not described", async () => {
  const { id } = (await sendFields({ needed: "x", code: SECRET })).json as { id: string };
  const wrong = { needed: "x", code: "other", boolean: "yes" };
  const text = "boolean: expected true or false, found a text of up to 10 characters";
  const ofRow = text.replace(":", " of row 2 of the batch:");
  const upserts = `${LIST}?onConflict=code`;
  for (const [response, expected] of [
    [await sendFields([{ needed: "x" }, wrong]), ofRow],
    [await sendFields([{ needed: "x", code: "new" }, wrong], { path: upserts }), ofRow],
    [await sendFields(wrong, { path: upserts }), text],
    [await sendFields({ boolean: "yes" }, { method: "PATCH", path: `${LIST}/${id}` }), text],
    [
      await sendFields(
        [
          { id, needed: "x" },
          { id: NO_ID, boolean: "yes" },
        ],
        { method: "PATCH" },
      ),
      ofRow,
    ],
    [await sendFields({ boolean: "yes" }, { method: "PATCH", path: `${LIST}?all=true` }), text],
  ] as const) {
    expect(response.status).toBe(422);
    expect(await explain(response)).toContain(expected);
  }
  const duplicate = await sendFields({ needed: "x", code: SECRET });
  expect(duplicate.status).toBe(409);
  expect(await explain(duplicate)).not.toMatch(/expected|found a text/);
});

test("requests that differ in what was found are not merged", async () => {
  const own = await service.makeApp(SCHEMA);
  const send = (boolean: unknown) =>
    service.call(own, LIST, { method: "POST", json: { needed: "x", boolean } });
  await explain(await send(2));
  // From the start of a minute.
  ahead += 60_000 - ((Date.now() + ahead) % 60_000);
  const texts: TestResponse[] = [];
  for (let count = 0; count < 8; count++) texts.push(await send("yes"));
  const list = await send([]);
  expect(await explain(list)).toContain("found a list");
  for (const response of texts)
    expect((await readPage(toId(response))).text).toContain("found a text of up to 10 characters");
});

test("the database stores exactly the classes, and a request with anything else is not stored", async () => {
  const usual = {
    method: "POST",
    route: "/v1/data/db/:table",
    status: 422,
    ms: 1,
    code: "validation_failed",
  };
  const add = async (found: unknown) => {
    const id = crypto.randomUUID();
    const stored = {
      ...{ id, app: app.id, at_ms: Date.now(), requests: 1, ...usual, table: "things" },
      ...{ fields: ["/needed"], ...(found === undefined ? {} : { found }) },
    };
    await readRows(
      service.service.db,
      `select rowhouse.add_minute(gen_random_uuid(), 'all', now(), now(), false, null, '[]', '[]',
        '[]', $1::text::jsonb, null)`,
      [JSON.stringify([stored])],
    );
    return await readPage(id);
  };
  for (const [name, words] of Object.entries(FOUND)) {
    const { status, text } = await add([name]);
    expect([name, status, text.includes(`expected a text, found ${words}`)]).toEqual([
      name,
      200,
      true,
    ]);
  }
  // A process of an earlier release does not send it.
  for (const older of [undefined, null, []]) {
    const { status, text } = await add(older);

    expect(status).toBe(200);
    expect(text).not.toContain(", found");
  }
  for (const forged of [
    [SECRET],
    ["text_10 "],
    ["TEXT"],
    ["text_12"],
    ["null,x"],
    [null],
    ["null", "null"],
    [{ null: "null" }],
    [["null"]],
    [`text\n${SECRET}`],
  ])
    expect([forged, (await add(forged)).status]).toEqual([forged, 404]);
  // No other statement can either.
  const insert = (found: string) =>
    service.service.admin.message(
      `insert into rowhouse.stored_requests (id, at, method, route, status, ms, paths, found)
      values (gen_random_uuid(), now(), 'GET', '/', 422, 1, '{/a}', '{${found}}'); select 1`,
    );
  await insert("text");
  await expect(insert(SECRET)).rejects.toThrow();
  expect((await readStored()).filter(({ text }) => text.includes(SECRET))).toEqual([]);
});

test("each value has a class, whatever it contains", () => {
  for (const [value, found] of [
    [undefined, "missing"],
    ["2026-02-30", "date_text"],
    ["2026/2/3", "date_text"],
    ["2026-01-02T03:04:05", "time_text"],
    ["2026-01-02 3:04", "time_text"],
    ["12,50", "number_text"],
    ["-1.5", "number_text"],
    ["1743 Main Street", "text_100"],
    ["🙂", "text_10"],
    ["\ud83d", "unstorable"],
    ["x".repeat(1001), "text"],
    [2 ** 53, "inexact"],
  ] as const)
    expect([value, classify(value)]).toEqual([value, found]);
});
