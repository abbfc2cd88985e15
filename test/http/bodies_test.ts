/**
 * Bodies of requests, byte for byte: accepted formats and rejections. A rejected body is cheap and changes nothing.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { casesBy } from "../support/cases.ts";
import { codeOf, expectRejection, type Rejection } from "../support/problem.ts";
import { measureProcessor } from "../support/processor_time.ts";
import { type RawOptions, type RawResponse, sendRaw, writeRequest } from "../support/raw_http.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const LIST = "/v1/data/db/todos";
const MAX_BYTES = 102_400;
const JSON_TYPE = "Content-Type: application/json";
const CHUNKED = "Transfer-Encoding: chunked";

const service = await share(openTestService());
const schema = defineSchema({ todos: { title: t.string() } });
const app = await service.makeApp(schema);
/** The app of rejected bodies, which must stay empty. */
const rejectedApp = await service.makeApp(schema);
await service.call(app, LIST);

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

const utf8 = (...bytes: number[]) =>
  Buffer.concat([Buffer.from('{"title":"'), Buffer.from(bytes), Buffer.from('"}')]);
const nested = (depth: number) => `{"x":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;

/** Bodies that are rejected before their values are checked, by the code and the message. */
const BAD_BODIES = casesBy<string | Uint8Array>({
  [`body_too_large: The body is larger than ${MAX_BYTES} bytes`]: {
    "one byte over the limit": JSON.stringify("x".repeat(MAX_BYTES - 1)),
  },
  "invalid_json: The body is not UTF-8": {
    "with a stray byte": utf8(0xff),
    "with an overlong slash": utf8(0xc0, 0xaf),
    "with half of a surrogate pair": utf8(0xed, 0xa0, 0x80),
    "with a truncated character": utf8(0xe2, 0x82),
    "in UTF-16": Buffer.from('\ufeff{"title":"x"}', "utf16le"),
  },
  "invalid_json: The body is not JSON": {
    "with a byte order mark": "\ufeff{}",
    "without content": "",
    "of white space": "  \n",
    "without a closing brace": "{",
    "of two values": "{}{}",
    "with a trailing comma": '{"title":"x",}',
    "with a comment": "{}//x",
    "with single quotes": "{'title':'x'}",
    "with NaN": '{"title":NaN}',
    "with a raw newline in a string": '{"title":"a\nb"}',
  },
  "invalid_json: The body is not a JSON object": {
    "of a string": '"x"',
    "of null": "null",
    "of a number": "1",
  },
  "invalid_json: Cannot read the list: must have 1 to 1000 JSON objects; split a longer list into several requests":
    { "of an empty list": "[]", "of a list of numbers": "[1]" },
  "invalid_json: The body is nested deeper than 64": {
    "nested 65 deep": nested(65),
    "nested 50,000 deep": nested(50_000),
    "nested without an end": '{"a":'.repeat(20_000),
  },
});

async function expectRejected(
  headers: readonly string[],
  body: string | Uint8Array,
  rejection: Rejection,
) {
  const { ms, result } = await measureProcessor(() => create(headers, body, rejectedApp.key));
  expectRejection(result, rejection);
  expect(ms).toBeLessThan(1000);
}

describe("a body", () => {
  test.each(BAD_BODIES)("$name is rejected", async ({ value, expected }) => {
    const [code = "", message = ""] = expected.split(/: (.*)/);
    await expectRejected([JSON_TYPE], value, { code, message } as Rejection);
  });

  test.each<string[]>([
    [JSON_TYPE, "Content-Encoding: gzip"],
    [JSON_TYPE, "Content-Encoding: identity"],
    [],
    ["Content-Type: text/plain"],
    ["Content-Type: application/x-www-form-urlencoded"],
    ["Content-Type: multipart/form-data; boundary=x"],
    ["Content-Type: application/vnd.api+json"],
    ["Content-Type: application/json; charset=utf-16"],
  ])("of another type or encoding is rejected: %s %s", async (...headers) => {
    const message = "Send the body as application/json in UTF-8, without a content encoding";
    await expectRejected(headers, "{}", { code: "unsupported_media_type", message });
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

  test.each<string[]>([
    ["{", `Content-Length: ${MAX_BYTES + 1}`],
    ["", "Content-Length: 204800", "Expect: 100-continue"],
  ])(
    "%p with a Content-Length over the limit is rejected before it arrives",
    async (body = "", ...headers) => {
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
    { start: `GET ${LIST}`, status: 200, maxMiB: 2048 },
    { start: "POST /v1/nothing", status: 404, code: "unknown_route" },
    { start: `PUT ${LIST}`, status: 405, code: "method_not_allowed" },
    { start: `POST ${LIST}?x`, status: 400, code: "unsupported_query" },
    { start: `POST ${LIST}`, key: null, status: 401, code: "unauthenticated" },
  ])(
    "of $start is cut off: $status",
    async ({ start, key = app.key, status, code, maxMiB = 32 }) => {
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
    },
  );
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
