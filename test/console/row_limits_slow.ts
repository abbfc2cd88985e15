/** Rows that are larger than any body with the default settings: the Console restores them through the gateway. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { MOST_BATCH_BYTES, WALL_BYTES } from "../../src/std/limits.ts";
import { makePerson, signInAs, submitForm, visit } from "../support/people.ts";
import { openTestService, type TestService } from "../support/service.ts";

type Row = { id: string };

describe("rows above the default limits, in a split service", () => {
  const columns = Array.from({ length: 17 }, (_, n) => `c${n}`);
  let service: TestService;
  beforeAll(async () => {
    const limits = { maxResponseBytes: 2 * WALL_BYTES, maxBatchBytes: MOST_BATCH_BYTES };
    service = await openTestService({
      shape: "split",
      service: { previews: ["history"], ...limits },
      identity: () => ({ cookieDomain: "example.org" }),
    });
  });
  afterAll(() => service.close());

  test("a deleted row is restored, and an update of all its columns is undone", async () => {
    const jar = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));
    const app = await service.makeApp(
      defineSchema({ papers: Object.fromEntries(columns.map((name) => [name, t.string()])) }),
    );
    await setAppSwitch(service.service, app.slug, ["history", true]);
    const send = (path: string, method: string, json?: unknown) =>
      service.call(app, path, { method, ...(json !== undefined && { json }) });
    const { id } = (await send("/v1/data/db/papers", "POST", {})).json as Row;
    const text = "x".repeat(MOST_BATCH_BYTES - 1000);
    for (const name of columns)
      expect((await send("/v1/data/db/papers", "PATCH", [{ id, [name]: text }])).status).toBe(200);
    const row = `/v1/data/db/papers/${id}`;
    const before = (await send(row, "GET")).text;
    expect(before.length).toBeGreaterThan(WALL_BYTES);
    const table = `/console/apps/${app.slug}/tables/papers`;
    const undo = async (path: string) => {
      const { text: page } = await visit(service, jar, path);
      const [, address = ""] =
        /href="([^"]*\/restore\?[^"]*)"[^>]*>(?:Restore|Undo)/.exec(page) ?? [];
      const done = await submitForm(service, jar, { path: address.replaceAll("&amp;", "&") });
      expect({ status: done.status, location: done.headers.get("location") }).toMatchObject({
        status: 303,
      });
    };
    await send(row, "PATCH", Object.fromEntries(columns.map((name) => [name, null])));
    await undo(`${table}/history`);
    expect((await send(row, "GET")).text).toBe(before);
    await send(row, "DELETE");
    await undo(`${table}/history?deleted=yes`);
    expect((await send(row, "GET")).text).toBe(before);
  });
});
