import { afterAll, beforeAll, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

let service: TestService;
let app: TestApp;
beforeAll(async () => {
  service = await openTestService();
  app = await service.makeApp(schema);
});
afterAll(() => service.close());

test("a row is created, read, listed, updated and deleted", async () => {
  const created = await service.call(app, "/v1/data/db/todos", {
    method: "POST",
    json: { title: "Milk" },
  });

  expect(created.status).toBe(201);
  const location = created.headers.get("location") ?? "";
  const got = await service.call(app, location);
  expect(got.text).toBe(created.text);
  const listed = await service.call(app, "/v1/data/db/todos?limit=1");

  expect(listed.status).toBe(200);
  const changed = await service.call(app, location, {
    method: "PATCH",
    json: { title: "Oat milk", nothing: 1 },
  });
  expect(changed.json).toEqual({ ...(got.json as object), title: "Oat milk" });
  const deleted = await service.call(app, location, { method: "DELETE" });
  expect([deleted.status, deleted.text]).toEqual([204, ""]);
  expect(deleted.headers.get("cache-control")).toBe("private, no-cache, no-transform");
  const missing = await service.call(app, location);
  expect(missing.status).toBe(404);
});
