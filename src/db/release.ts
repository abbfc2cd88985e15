/**
 * What identifies this program: the version of the package, the highest number of its tables, and its code in the database. For
 * operators only: no response to others contains it.
 *
 * @module
 */
import { MIGRATIONS } from "./migrations/mod.ts";
import { DIGEST, releaseOf } from "./migrations/state.ts";

/** Enough of a digest to tell releases apart. */
const DIGEST_CHARS = 12;

export const RELEASE = {
  ...releaseOf(MIGRATIONS),
  code: DIGEST.replace("sha256:", "").slice(0, DIGEST_CHARS),
};

/** As processes report it, and as operators read it. */
export const RELEASE_TEXT = `${RELEASE.version} (tables ${RELEASE.tables}, code ${RELEASE.code})`;
