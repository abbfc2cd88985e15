import { expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());
const app = await service.makeApp(schema);

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
