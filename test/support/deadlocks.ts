/** The deadlocks that PostgreSQL has ended in a test's database. @module */
import { readRows } from "../../src/db/mod.ts";
import { withDatabase } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import type { TestService } from "./service.ts";

/** Since the database was created. Ends the service: a session can report its own deadlocks as late as at its end. */
export async function countDeadlocks(service: TestService): Promise<number> {
  await service.end();
  return await withDatabase(service.database.adminUrl, async (admin) => {
    await eventually(async () => {
      const [row] = await readRows<{ left: number }>(
        admin,
        `select count(*)::int4 as left from pg_stat_activity where datname = current_database()
        and pid <> pg_backend_pid() and backend_type = 'client backend'`,
      );
      return row?.left === 0;
    });
    const [row] = await readRows<{ deadlocks: number }>(
      admin,
      "select deadlocks::int4 as deadlocks from pg_stat_database where datname = current_database()",
    );
    return row?.deadlocks ?? -1;
  });
}
