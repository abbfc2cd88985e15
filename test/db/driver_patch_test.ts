/** The installed driver contains our patch, and a failed statement does not affect the next statement. */
import { describe, expect, test } from "bun:test";
import postgres from "postgres";
import { isDriverPatched } from "../../src/db/mod.ts";
import { openConnection } from "../../src/db/pool/connection.ts";
import { errorCode } from "../../src/std/network.ts";
import { makeDatabase } from "../support/cluster.ts";
import { share } from "../support/share.ts";

const database = await share(makeDatabase());

const MESSAGE = { parameters: undefined, prepare: false, isRaw: false };

test("the installed driver contains the patch", () => {
  expect(isDriverPatched()).toBe(true);
});

describe("a statement that fails after its first row does not change the next result:", () => {
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

test("a prepared statement that the server has forgotten is sent again with the same values", async () => {
  const connection = await openConnection({
    url: database.adminUrl,
    prepare: true,
    name: "driver",
  });
  const ask = () =>
    connection.send({
      text: "select $1::bool as flag, encode($2, 'hex') as bytes",
      parameters: [true, new Uint8Array([7])],
      prepare: true,
      isRaw: false,
    });
  const sent = [{ flag: true, bytes: "07" }];
  expect(await ask()).toEqual(sent);
  await connection.send({ ...MESSAGE, text: "deallocate all" });
  expect(await ask()).toEqual(sent);
  connection.end();
});

test("an unpatched driver prepares nothing, and a connection ends at its first failed statement", async () => {
  const patch: unknown = Reflect.get(postgres, "rowhousePatch");
  Reflect.deleteProperty(postgres, "rowhousePatch");
  const connection = await openConnection({
    url: database.adminUrl,
    prepare: true,
    name: "driver",
  });
  Reflect.set(postgres, "rowhousePatch", patch);
  const send = (text: string) =>
    connection.send({ text, parameters: ["1"], prepare: true, isRaw: false });
  const names = "select name from pg_prepared_statements where $1 = '1'";
  expect([...(await send(names)), ...(await send(names))]).toEqual([]);
  expect(connection.isAlive()).toBe(true);
  expect(await send("select 1 / 0, $1::int4").catch(errorCode)).toBe("22012");
  expect(connection.isAlive()).toBe(false);
});
