/** Kills connections of a service in the database. @module */
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { withDatabase } from "../support/cluster.ts";

/** Kills a random connection of the service to the named database every 10 ms. Returns how many. */
export async function killBackends(
  admin: { url: string; database: string },
  ms: number,
): Promise<number> {
  const endsAt = performance.now() + ms;
  let killed = 0;
  await withDatabase(admin.url, async (killer) => {
    while (performance.now() < endsAt) {
      const rows = await killer.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name like 'rowhouse%' and datname = $1 and pid <> pg_backend_pid()
        order by random() limit 1`,
        [admin.database],
        { retry: "safe", queue: SERVICE_QUEUE },
      );
      killed += rows.length;
      await Bun.sleep(10);
    }
  });
  return killed;
}
