/** Requests of apps: schema, rows, documentation and health. @module */
import { defineSchema, t } from "../../../src/schema/mod.ts";
import { docs } from "../../../src/service/routes.ts";
import { makeHistory, postMigrations } from "../history.ts";
import { postChange, postSchema, postSteps } from "../push.ts";
import { definitionOf } from "../service.ts";
import type { Ask, Toured } from "./mod.ts";

/** Defines tables, and creates, changes and deletes a row. */
export async function tourData({ service, app }: Toured, ask: Ask): Promise<void> {
  const call = (path: string, method = "GET", json?: object) =>
    ask(() => service.call(app, path, { method, ...(json === undefined ? {} : { json }) }));

  for (const columns of [{ title: t.string() }, { title: t.string(), note: t.string().index() }])
    await ask(() => postSchema(service, app, defineSchema({ todos: columns })));
  for (const path of ["/v1/data/schema", "/v1/data/schema/migrations/1", "/v1/openapi.json"])
    await call(path);
  const second = { service, app: await service.makeApp() };
  const grown = defineSchema({ notes: { title: t.string(), note: t.string().index() } });
  const history = makeHistory([defineSchema({ notes: { title: t.string() } }), grown]);
  await ask(() => postMigrations(second, history, grown, { dryRun: true }));
  for (const text of history) await ask(() => postMigrations(second, [text], grown));
  const change = { kind: "rename_column", table: "notes", column: "note", to: "text" };
  await ask(() => postChange(service, second.app, change));
  const notes = definitionOf(
    defineSchema({ notes: { title: t.string(), text: t.string().index() } }),
  );
  const join = { kind: "join", migrations: history, definition: notes, declared: notes };
  await ask(() => postSteps(service, second.app, [join]));
  const created = await call("/v1/data/db/todos", "POST", { title: "tour" });
  const row = created.headers.get("location") ?? "";
  await call(row);
  await call(row, "PATCH", { title: "changed" });
  const id = row.slice(row.lastIndexOf("/") + 1);
  await call("/v1/data/db/todos", "PATCH", [{ id, title: "changed again" }]);
  await call("/v1/data/db/todos?title=eq.none", "PATCH", { title: "many" });
  await call("/v1/data/db/todos?title=eq.none", "DELETE");
  await call("/v1/data/db/todos?limit=1");
  await call("/v1/data/db/todos?title=ilike.*a*&limit=1");
  await call("/v1/data/db/todos/groups?by=title");
  await call(row, "DELETE");
  for (const path of ["/live", "/ready"]) await call(path);
  for (const { path } of docs)
    await call(path.endsWith("/search") ? `${path}?q=list` : path.replace(":table", "todos"));
}
