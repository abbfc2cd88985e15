/** The deadlocks that PostgreSQL has ended in a test's database. @module */
import { readRows } from "../../src/db/mod.ts";
import { withDatabase } from "./cluster.ts";
import { eventually } from "./eventually.ts";

/** Since the database was created. Ends all other sessions: a session can report its own as late as at its end. */
export async function countDeadlocks(adminUrl: string): Promise<number> {
  return await withDatabase(adminUrl, async (admin) => {
    const ask = <Row>(text: string) => readRows<Row>(admin, text);
    const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend'`;
    const ended = await ask<{ pid: number }>(`select pid, pg_terminate_backend(pid) ${others}`);
    const pids = ended.map(({ pid }) => pid);
    await eventually(async () => {
      const [row] = await ask<{ left: number }>(
        `select count(*)::int4 as left ${others} and pid = any ('{${pids}}')`,
      );
      return row?.left === 0;
    });
    const [row] = await ask<{ deadlocks: number }>(
      "select deadlocks::int4 as deadlocks from pg_stat_database where datname = current_database()",
    );
    return row?.deadlocks ?? -1;
  });
}
