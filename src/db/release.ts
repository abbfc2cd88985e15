/**
 * What identifies this program: the version of the package, the highest number of its tables, and its code in the database. For
 * operators only: no response to others contains it.
 *
 * @module
 */
import { VERSION } from "../format.ts";
import { MIGRATIONS } from "./migrations/mod.ts";

export const RELEASE = {
  version: VERSION,
  tables: MIGRATIONS.at(-1)?.number ?? 0,
  code: new Bun.CryptoHasher("sha256")
    .update(MIGRATIONS.map(({ sql }) => sql).join())
    .digest("hex")
    .slice(0, 12),
};

/** As processes report it, and as operators read it. */
export const RELEASE_TEXT = `${RELEASE.version} (tables ${RELEASE.tables}, code ${RELEASE.code})`;
