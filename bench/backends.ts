/** What a database keeps: its functions and catalog on disk, and the memory of its backends. @module */
import { readFileSync } from "node:fs";
import type { TestService } from "../test/support/service.ts";

type Catalog = Record<"functions" | "textKb" | "catalogMb" | "databaseMb", number>;

export async function readCatalog(service: TestService): Promise<Catalog> {
  const [row] = await service.query<Catalog>(
    `select count(*)::float8 as functions, sum(length(prosrc))::float8 / 1000 as "textKb",
      (select sum(pg_total_relation_size(oid))::float8 / 1e6 from pg_class
        where relnamespace = 'pg_catalog'::regnamespace and relkind = 'r') as "catalogMb",
      pg_database_size(current_database())::float8 / 1e6 as "databaseMb" from pg_proc`,
  );
  if (row === undefined) throw new Error("PostgreSQL has no functions");
  return row;
}

/** Private MB of each backend of the serving login, if PostgreSQL runs on this machine. */
export async function readBackends(service: TestService): Promise<number[]> {
  const rows = await service.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database()
      and backend_type = 'client backend' and usename = $1`,
    [new URL(service.database.servingUrl).username],
  );
  return rows.flatMap(({ pid }) => readPrivateMb(pid) ?? []);
}

function readPrivateMb(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    const kb = [...text.matchAll(/Private_(?:Clean|Dirty):\s+(\d+)/g)].map(([, found]) =>
      Number(found),
    );
    return sum(kb) / 1024;
  } catch {
    return undefined; // no /proc, or another user's process
  }
}

export function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
