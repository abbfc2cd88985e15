/** Reads of the Console: each rejects a result of the database that lacks what its page shows. */
import { expect, test } from "bun:test";
import { openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { CONSOLE_READS, readConsole } from "../../src/records/console/mod.ts";
import { openTestService } from "../support/service.ts";

test("every read of the Console checks what the database returns", async () => {
  await using service = await openTestService();
  const { admin } = service.service;
  const options = { retry: "safe", queue: SERVICE_QUEUE } as const;
  const found = await admin.query<{ name: string; signature: string }>(
    `select proname as name, pg_catalog.pg_get_function_arguments(oid) as signature from pg_catalog.pg_proc
     where pronamespace = 'rowhouse'::pg_catalog.regnamespace and prorettype = 'jsonb'::pg_catalog.regtype
       and proname like 'console\\_%' and 'visitor' = any (proargnames) and proname not like '%\\_act'`,
    [],
    options,
  );
  const reads = found.filter(({ signature }) => signature.startsWith("visitor "));
  expect(reads.map(({ name }) => name.replace("console_", "")).sort()).toEqual(
    CONSOLE_READS.toSorted(),
  );
  for (const { name, signature } of reads)
    await admin.message(
      `create or replace function rowhouse.${name}(${signature}) returns jsonb language sql as $$ select '{}'::jsonb $$; select 1`,
    );
  const consoleDb = openDatabase({
    ...{ url: service.database.consoleUrl, connections: 1, prepare: true, name: "reads" },
  });
  const cookies = { session: "", identity: "", from: "192.0.2.7" };
  const actor = { consoleDb, sessionIdleS: 600, cookies, isForm: false, log: () => {} };
  for (const name of CONSOLE_READS)
    await expect(readConsole(actor, name, {} as never)).rejects.toThrow(
      `rowhouse.${name} returned something unexpected`,
    );
  await consoleDb.close();
});
