/** A push locks a table against reads only while it changes this table. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { freshName, postSchema, readMigrations } from "../support/push.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());

/** Fails a push that changes or creates a table while another table is locked against reads. */
const WATCH = (table: string) => `create function public.check_lock() returns event_trigger
language plpgsql as $$
begin
  if exists (select from pg_catalog.pg_locks where pid = pg_catalog.pg_backend_pid()
      and mode = 'AccessExclusiveLock' and relation = 'data.${table}'::regclass)
    and not exists (select from pg_catalog.pg_event_trigger_ddl_commands()
      where objid = 'data.${table}'::regclass)
  then
    raise exception 'the table is locked while another table changes';
  end if;
end $$;
create event trigger check_lock on ddl_command_end when tag in ('ALTER TABLE', 'CREATE TABLE')
  execute function public.check_lock()`;
const UNWATCH = "drop event trigger check_lock; drop function public.check_lock()";

async function pushWatched(app: TestApp, schema: object, table: string): Promise<void> {
  const { admin } = service.service;
  await admin.message(WATCH(table));
  const { json } = await postSchema(service, app, schema).finally(() => admin.message(UNWATCH));
  expect(json).toMatchObject({ status: "applied" });
}

test("a table that a push only references remains readable", async () => {
  const [shared, fresh] = [freshName(), freshName()];
  const target = { title: t.string() };
  await service.makeApp(defineSchema({ [shared]: target }));
  const app = await service.makeApp();
  const references = { a: t.ref(shared), b: t.ref(shared), c: t.ref(shared), d: t.ref(shared) };
  const schema = defineSchema({ [shared]: target, [fresh]: { ...references, e: t.ref(shared) } });

  await pushWatched(app, schema, shared);
});

test("a shared table is locked only during its own change", async () => {
  const [shared, prefix] = [freshName(), freshName()];
  const target = { title: t.string() };
  const owner = await service.makeApp(defineSchema({ [shared]: target }));
  const created = Object.fromEntries(
    Array.from({ length: 10 }, (_, n) => [
      `${prefix}_${n}`,
      { title: t.string().unique(), note: t.string().index(), next: t.ref(`${prefix}_${9 - n}`) },
    ]),
  );
  const schema = defineSchema({ [shared]: { ...target, note: t.string() }, ...created });

  await pushWatched(owner, schema, shared);

  // The migration lists the statements in the order of their execution.
  const [, migration] = await readMigrations(service, owner);
  const kinds = migration?.sql.match(/^create table|^alter table \S+ add column/gm) ?? [];
  expect(kinds.length).toBe(11);
  expect(kinds.at(-1)).toStartWith("alter table");
  expect(await readDrift(service.service.admin)).toEqual([]);
});
