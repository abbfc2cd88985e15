/**
 * The service's tables: numbered files, of which each is applied once, in order. A file is frozen with its release; a
 * table changes by the next number.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import LOCKS from "./locks.json" with { type: "json" };

/** A lock that a statement of a file takes on a table that existed before the file. Locks of rows and reads are not listed. */
export type MeasuredLock = {
  /** Its index in the file. */
  readonly statement: number;
  readonly table: string;
  readonly mode:
    | "ROW EXCLUSIVE"
    | "SHARE UPDATE EXCLUSIVE"
    | "SHARE"
    | "SHARE ROW EXCLUSIVE"
    | "EXCLUSIVE"
    | "ACCESS EXCLUSIVE";
  /** Whether the statement reads or writes all of the table. */
  readonly isLong: boolean;
};

export type ServiceMigration = {
  readonly number: number;
  /** The name of its file, without the ending. */
  readonly name: string;
  readonly sql: string;
  /** What PostgreSQL really locks, as a test measured it. */
  readonly locks: readonly MeasuredLock[];
};

const MEASURED = new Map(Object.entries(LOCKS as Record<string, MeasuredLock[]>));

export const MIGRATIONS: readonly ServiceMigration[] = [
  ...new Bun.Glob("[0-9]*_*.sql").scanSync(import.meta.dir),
]
  .sort()
  .map((file) => ({
    number: Number.parseInt(file, 10),
    name: file.replace(/\.sql$/, ""),
    sql: readFileSync(`${import.meta.dir}/${file}`, "utf8"),
  }))
  .map((migration) => ({ ...migration, locks: MEASURED.get(migration.name) ?? [] }));

/** As the database records it. */
export function checksum({ sql }: Pick<ServiceMigration, "sql">): string {
  return `sha256:${new Bun.CryptoHasher("sha256").update(sql).digest("hex")}`;
}

/** Texts that count as the first file: the baseline of 7aa4ae30, which created the same tables. */
export const ADOPTED: readonly string[] = [
  "sha256:14aac660a72d1cfa47141242879e6083499889af73f80a295e0fdfd441852601",
];
