/** What a thief of the pushing login plants, and what it then sees. @module */
import postgres from "postgres";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { signatureOf } from "./functions.ts";
import { openTestService, UNGUARDED } from "./service.ts";
import type { Shape } from "./shape.ts";

const schema = defineSchema({ todos: { title: t.string().required() } });

/** Whether a function of an app's table that a thief swaps runs in a session that reads people, in a service of this shape. */
export async function swapReadsPeople(shape: Shape): Promise<boolean> {
  const service = await openTestService({ shape, service: UNGUARDED });
  const thief = postgres(service.database.pushUrl, { max: 1, onnotice: () => undefined });
  try {
    const app = await service.makeApp(schema);
    const get = signatureOf(schema, "todos", "get");
    await thief.unsafe(`
      create table data.noted (reads boolean);
      create function api.note(reads boolean) returns void language sql security definer as
        'insert into data.noted values (reads)';
      drop function api.${get};
      create function api.${get} returns text language plpgsql as $$ begin
        perform api.note(has_any_column_privilege('rowhouse.users', 'select'));
        return null; end $$`);
    await service.call(app, `/v1/data/db/todos/${crypto.randomUUID()}`);
    const [noted] = await thief.unsafe("select bool_or(reads) as reads from data.noted");
    if (typeof noted?.["reads"] !== "boolean") throw new Error("The swapped function did not run");
    return noted["reads"];
  } finally {
    await thief.end();
    await service.close();
  }
}
