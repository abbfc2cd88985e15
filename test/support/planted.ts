/** Code that a stolen push login plants, and what that code can read. @module */
import postgres from "postgres";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { signatureOf } from "./functions.ts";
import { openTestService, UNGUARDED } from "./service.ts";
import type { Shape } from "./shape.ts";

const schema = defineSchema({ todos: { title: t.string().required() } });

/** Returns whether a replaced function of an app's table runs in a session that can read people. */
export async function swapReadsPeople(shape: Shape): Promise<boolean> {
  const service = await openTestService({ shape, service: UNGUARDED });
  const thief = postgres(service.database.pushUrl, { max: 1, onnotice: () => undefined });
  try {
    const app = await service.makeApp(schema);
    const get = signatureOf(schema, "todos", "get");
    await thief.unsafe(`
      create table data.recorded (reads boolean);
      create function api.record(reads boolean) returns void language sql security definer as
        'insert into data.recorded values (reads)';
      drop function api.${get};
      create function api.${get} returns text language plpgsql as $$ begin
        perform api.record(has_any_column_privilege('rowhouse.users', 'select'));
        return null; end $$`);
    await service.call(app, `/v1/data/db/todos/${crypto.randomUUID()}`);
    const [recorded] = await thief.unsafe("select bool_or(reads) as reads from data.recorded");
    if (typeof recorded?.["reads"] !== "boolean")
      throw new Error("The replaced function did not run");
    return recorded["reads"];
  } finally {
    await thief.end();
    await service.close();
  }
}
