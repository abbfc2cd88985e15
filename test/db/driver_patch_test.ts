/** The installed driver: it carries our patch, and a failed statement leaves nothing to the next one. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isDriverPatched } from "../../src/db/mod.ts";
import { openConnection } from "../../src/db/pool/connection.ts";
import { errorCode } from "../../src/std/error_code.ts";
import { makeDatabase, type TestDatabase } from "../support/cluster.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
});
afterAll(() => database.drop());

test("the installed driver carries our patch", () => {
  expect(isDriverPatched()).toBe(true);
});

describe("a statement that fails after its first row leaves the next result as it is:", () => {
  const FAILING = "select 100 / (3 - x) as quotient from generate_series(1, 3) as x";
  test.each([
    { name: "prepared", prepare: true, isPipelined: false },
    { name: "unprepared", prepare: false, isPipelined: false },
    { name: "prepared and pipelined", prepare: true, isPipelined: true },
    { name: "unprepared and pipelined", prepare: false, isPipelined: true },
  ])("$name", async ({ prepare, isPipelined }) => {
    const url = database.adminUrl;
    const connection = await openConnection({ url, prepare, name: "driver", isPipelined });
    const send = (text: string) =>
      connection.send({ text, parameters: [], prepare, isRaw: false }).catch(errorCode);
    expect(await send(FAILING)).toBe("22012");
    expect(await send("select 'mine' as note")).toEqual([{ note: "mine" }]);
    expect(await Promise.all([send(FAILING), send("select 'mine' as note")])).toEqual([
      "22012",
      [{ note: "mine" }],
    ]);
    connection.end();
  });
});
