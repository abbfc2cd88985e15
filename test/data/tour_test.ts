import { afterAll, beforeAll, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { openTestHouse, type TestApp, type TestHouse } from "../support/house.ts";

let house: TestHouse;
let app: TestApp;
beforeAll(async () => {
  house = await openTestHouse();
  app = await house.makeApp(schema);
});
afterAll(() => house.close());

test("a row is created, read, listed, changed and deleted", async () => {
  const created = await house.call(app, "/v1/data/db/todos", {
    method: "POST",
    json: { title: "Milk" },
  });

  expect(created.status).toBe(201);
  const location = created.headers.get("location") ?? "";
  const got = await house.call(app, location);
  expect(got.text).toBe(created.text);
  const listed = await house.call(app, "/v1/data/db/todos?limit=1");

  expect(listed.status).toBe(200);
  const changed = await house.call(app, location, {
    method: "PATCH",
    json: { title: "Oat milk", nothing: 1 },
  });
  expect(changed.json).toEqual({ ...(got.json as object), title: "Oat milk" });
  const deleted = await house.call(app, location, { method: "DELETE" });
  expect([deleted.status, deleted.text]).toEqual([204, ""]);
  const missing = await house.call(app, location);
  expect(missing.status).toBe(404);
});
