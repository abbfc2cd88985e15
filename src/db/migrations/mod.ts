/**
 * The service's tables: numbered files, of which each is applied once, in order. A file is frozen with its release; a
 * table changes by the next number.
 *
 * @module
 */
import { readFileSync } from "node:fs";

export type ServiceMigration = {
  readonly number: number;
  /** The name of its file, without the ending. */
  readonly name: string;
  readonly sql: string;
};

export const MIGRATIONS: readonly ServiceMigration[] = [
  ...new Bun.Glob("[0-9]*_*.sql").scanSync(import.meta.dir),
]
  .sort()
  .map((file) => ({
    number: Number.parseInt(file, 10),
    name: file.replace(/\.sql$/, ""),
    sql: readFileSync(`${import.meta.dir}/${file}`, "utf8"),
  }));

/** As the database records it. */
export function checksum({ sql }: Pick<ServiceMigration, "sql">): string {
  return `sha256:${new Bun.CryptoHasher("sha256").update(sql).digest("hex")}`;
}

/** Texts that count as the first file: the baseline of 7aa4ae30, which created the same tables. */
export const ADOPTED: readonly string[] = [
  "sha256:14aac660a72d1cfa47141242879e6083499889af73f80a295e0fdfd441852601",
];
