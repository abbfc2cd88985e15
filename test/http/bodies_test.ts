/**
 * Bodies of requests, byte for byte: accepted formats and rejections. A rejected body is cheap and changes nothing.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { codeOf, expectRejection, type Rejection } from "../support/problem.ts";
import { measureProcessor } from "../support/processor_time.ts";
import { type RawOptions, type RawResponse, sendRaw, writeRequest } from "../support/raw_http.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const LIST = "/v1/data/db/todos";
const MAX_BYTES = 102_400;
const JSON_TYPE = "Content-Type: application/json";
const CHUNKED = "Transfer-Encoding: chunked";

let service: TestService;
let app: TestApp;
/** The app of rejected bodies, which must stay empty. */
let rejectedApp: TestApp;
beforeAll(async () => {
  service = await openTestService();
  const schema = defineSchema({ todos: { title: t.string() } });
  app = await service.makeApp(schema);
  rejectedApp = await service.makeApp(schema);
  await service.call(app, LIST);
});
afterAll(() => service.close());

/** Sends a request with the app's key. */
async function send(
  start: string,
  headers: readonly string[],
  body: string | Uint8Array = "",
  { key = app.key, ...options }: RawOptions & { key?: string | null } = { untilResponse: true },
): Promise<RawResponse> {
  const bearer = key === null ? [] : [`Authorization: Bearer ${key}`];
  return await sendRaw(
    service.url,
    writeRequest(start, [...bearer, ...headers], { body }),
    options,
  );
}

/** Creates a row, with the body's length as Content-Length. */
const create = (headers: readonly string[], body: string | Uint8Array, key = app.key) =>
  send(`POST ${LIST}`, [...headers, `Content-Length: ${Buffer.byteLength(body)}`], body, {
    untilResponse: true,
    key,
  });

type Bad = { name: string; headers?: readonly string[]; body: string | Uint8Array };

const utf8 = (...bytes: number[]) =>
  Buffer.concat([Buffer.from('{"title":"'), Buffer.from(bytes), Buffer.from('"}')]);
const nested = (depth: number) => `{"x":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;

/** Bodies that are rejected before their values are checked, by their error. */
const BAD_BODIES: readonly (Rejection & { bodies: readonly Bad[] })[] = [
  {
    code: "unsupported_media_type",
    message: "Send the body as application/json in UTF-8, without a content encoding",
    bodies: [
      { name: "with a gzip encoding", headers: [JSON_TYPE, "Content-Encoding: gzip"] },
      { name: "with identity as its encoding", headers: [JSON_TYPE, "Content-Encoding: identity"] },
      { name: "without a type", headers: [] },
      { name: "of the type text", headers: ["Content-Type: text/plain"] },
      { name: "of the type form", headers: ["Content-Type: application/x-www-form-urlencoded"] },
      {
        name: "of the type multipart form",
        headers: ["Content-Type: multipart/form-data; boundary=x"],
      },
      { name: "of another JSON type", headers: ["Content-Type: application/vnd.api+json"] },
      { name: "in another charset", headers: ["Content-Type: application/json; charset=utf-16"] },
    ].map((row) => ({ ...row, body: "{}" })),
  },
  {
    code: "body_too_large",
    message: `The body is larger than ${MAX_BYTES} bytes`,
    bodies: [{ name: "one byte over the limit", body: JSON.stringify("x".repeat(MAX_BYTES - 1)) }],
  },
  {
    code: "invalid_json",
    message: "The body is not UTF-8",
    bodies: [
      { name: "with a stray byte", body: utf8(0xff) },
      { name: "with an overlong slash", body: utf8(0xc0, 0xaf) },
      { name: "with half of a surrogate pair", body: utf8(0xed, 0xa0, 0x80) },
      { name: "with a truncated character", body: utf8(0xe2, 0x82) },
      { name: "in UTF-16", body: Buffer.from('\ufeff{"title":"x"}', "utf16le") },
    ],
  },
  {
    code: "invalid_json",
    message: "The body is not JSON",
    bodies: [
      { name: "with a byte order mark", body: "\ufeff{}" },
      { name: "without content", body: "" },
      { name: "of white space", body: "  \n" },
      { name: "without a closing brace", body: "{" },
      { name: "of two values", body: "{}{}" },
      { name: "with a trailing comma", body: '{"title":"x",}' },
      { name: "with a comment", body: "{}//x" },
      { name: "with single quotes", body: "{'title':'x'}" },
      { name: "with NaN", body: '{"title":NaN}' },
      { name: "with a raw newline in a string", body: '{"title":"a\nb"}' },
    ],
  },
  {
    code: "invalid_json",
    message: "The body is not a JSON object",
    bodies: [
      { name: "of a string", body: '"x"' },
      { name: "of null", body: "null" },
      { name: "of a number", body: "1" },
    ],
  },
  {
    code: "invalid_json",
    message:
      "Cannot read the list: must have 1 to 1000 JSON objects; split a longer list into several requests",
    bodies: [
      { name: "of an empty list", body: "[]" },
      { name: "of a list of numbers", body: "[1]" },
    ],
  },
  {
    code: "invalid_json",
    message: "The body is nested deeper than 64",
    bodies: [
      { name: "nested 65 deep", body: nested(65) },
      { name: "nested 50,000 deep", body: nested(50_000) },
      { name: "nested without an end", body: '{"a":'.repeat(20_000) },
    ],
  },
];

const CASES = BAD_BODIES.flatMap(({ bodies, ...rejection }) =>
  bodies.map((bad) => ({ headers: [JSON_TYPE], ...bad, rejection, code: rejection.code })),
);

describe("a body", () => {
  test.each(CASES)("$name is rejected as $code", async ({ headers, body, rejection }) => {
    const { ms, result } = await measureProcessor(() => create(headers, body, rejectedApp.key));
    expectRejection(result, rejection);
    expect(ms).toBeLessThan(1000);
  });

  test("that was rejected creates no row", async () => {
    expect((await service.call(rejectedApp, LIST)).json).toMatchObject({ rows: [] });
  });

  test.each([
    "application/json",
    "Application/JSON;charset=UTF-8",
    'application/json; charset="utf-8"',
    "application/json;",
    "application/json; charset=utf-8;",
  ])("of the type %s is accepted", async (type) => {
    expect((await create([`Content-Type: ${type}`], "{}")).status).toBe(201);
  });

  test("of exactly the limit is accepted", async () => {
    const body = JSON.stringify({ title: "x".repeat(MAX_BYTES - 12) });
    expect(body.length).toBe(MAX_BYTES);
    expect((await create([JSON_TYPE], body)).status).toBe(201);
  });

  test("nested as deep as the limit is accepted", async () => {
    expect((await create([JSON_TYPE], nested(64))).status).toBe(201);
  });

  test("loses keys that are special in JavaScript, and the keys have no effect", async () => {
    const body =
      '{"title":"t","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"hasOwnProperty":1,"toJSON":"x"}';
    const response = await create([JSON_TYPE], body);
    expect(response.status).toBe(201);
    expect(Object.keys(JSON.parse(response.body))).toEqual(["id", "app_id", "title"]);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  test.each([
    { name: "", headers: [`Content-Length: ${MAX_BYTES + 1}`], body: "{" },
    {
      name: " with Expect: 100-continue",
      headers: ["Content-Length: 204800", "Expect: 100-continue"],
      body: "",
    },
  ])(
    "with a Content-Length over the limit$name is rejected before it arrives",
    async ({ headers, body }) => {
      const response = await send(`POST ${LIST}`, [JSON_TYPE, ...headers], body);
      expect([response.status, codeOf(response.body)]).toEqual([413, "body_too_large"]);
    },
  );

  test("whose client disconnects halfway is not logged as a bug", async () => {
    const seen = service.log.length;
    await send(`POST ${LIST}`, [JSON_TYPE, "Content-Length: 1000"], '{"a', { waitMs: 500 });
    while (!service.log.slice(seen).some((line) => line.includes('"request"'))) await Bun.sleep(5);
    expect(service.log.slice(seen).filter((line) => line.includes('"bug"'))).toEqual([]);
  });
});

describe("an endless chunked body", () => {
  test.each(["POST", "PATCH"])(
    "to %s is rejected, and the connection is closed",
    async (method) => {
      const path = method === "POST" ? LIST : `${LIST}/${crypto.randomUUID()}`;
      const before = process.memoryUsage().rss;
      const response = await send(`${method} ${path}`, [JSON_TYPE, CHUNKED], "", {
        more: floodChunks,
      });
      expect([response.status, codeOf(response.body), response.closed]).toEqual([
        413,
        "body_too_large",
        true,
      ]);
      expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    },
  );

  // A request that is rejected without its body ends early. A list first reads its rows and discards the body until
  // then; the amount depends on the machine.
  test.each([
    { name: "a list", start: `GET ${LIST}`, status: 200, maxMiB: 2048 },
    { name: "an unknown route", start: "POST /v1/nothing", status: 404, code: "unknown_route" },
    {
      name: "a path without that method",
      start: `PUT ${LIST}`,
      status: 405,
      code: "method_not_allowed",
    },
    {
      name: "a list with a query",
      start: `POST ${LIST}?x`,
      status: 400,
      code: "unsupported_query",
    },
    {
      name: "a list without a key",
      start: `POST ${LIST}`,
      key: null,
      status: 401,
      code: "unauthenticated",
    },
  ])("to $name is cut off", async ({ start, key = app.key, status, code, maxMiB = 32 }) => {
    let written = 0;
    const response = await send(start, [JSON_TYPE, CHUNKED], "", {
      key,
      more: (socket) => {
        floodChunks(socket);
        socket.once("close", () => {
          written = socket.bytesWritten;
        });
      },
    });
    expect(response.closed).toBe(true);
    // The limit includes the buffers of both kernels.
    expect(written).toBeLessThan(maxMiB * 1024 * 1024);
    // A reset can arrive before the response, or before its body, while the client still writes.
    if (response.text !== "") expect(response.status).toBe(status);
    if (response.body.endsWith("}")) expect(codeOf(response.body)).toBe(code);
  });
});

/** Writes chunks until the server stops reading. */
function floodChunks(socket: Socket): void {
  const chunk = `4000\r\n${" ".repeat(0x4000)}\r\n`;
  const write = () => {
    while (!socket.destroyed && socket.write(chunk));
    if (!socket.destroyed) socket.once("drain", write);
  };
  write();
}
