/** Leases of tokens from the buckets that all processes share, many in one statement. @module */
import { call, type Database } from "../db/mod.ts";

/** What a process has taken of a bucket, and what it would like to have of it. */
export type Report = { name: string; perMinute: number; taken: number; wanted: number };
/** What it may take from now on, and how much there is for all processes together. */
export type Leased = { leased: number; left: number };

/** The leases by the names of their buckets. @throws {Error} the database is away */
export type Lease = (reports: readonly Report[]) => Promise<ReadonlyMap<string, Leased>>;

/** A queue of its own: whoever waits for a lease does not wait behind pages, nor these behind it. */
const LEASE_QUEUE = "leases";

/** Leases for a process, which is told apart from others by its id, a UUID. */
export function makeLease(db: Database, processId: string): Lease {
  return async (reports) => {
    const rows = await call(
      db,
      "lease_tokens",
      {
        reporter: processId,
        names: reports.map(({ name }) => name),
        limits: reports.map(({ perMinute }) => perMinute),
        taken: reports.map(({ taken }) => taken),
        wanted: reports.map(({ wanted }) => wanted),
      },
      { queue: LEASE_QUEUE },
    );
    return new Map(rows.map((row) => [row.bucket, { leased: row.leased, left: row.left_over }]));
  };
}

/** Forgets buckets and leases that no process has used for a while. */
export async function sweepLeases({ db }: { db: Database }): Promise<boolean> {
  await call(db, "sweep_leases", {}, { queue: LEASE_QUEUE });
  return false;
}
