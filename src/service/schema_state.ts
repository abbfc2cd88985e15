/** What the doctor says of what is in the database: migrations, generated functions, isolation, nodes. @module */
import type { Isolation } from "../catalog/mod.ts";
import { type Database, type MigrationState, OTHER_BASELINE, readPreviews } from "../db/mod.ts";
import type { Preview } from "../preview.ts";
import { findOutdatedTables, findUncallableTables } from "../push/mod.ts";
import type { Finding } from "./finding.ts";

export function judgeMigrations({ missing, isOtherBaseline }: MigrationState): Finding {
  const about = "migrations";
  if (isOtherBaseline) {
    const { says, remedy } = OTHER_BASELINE;
    return { about, level: "fail", says: `the database ${says}`, remedy };
  }
  if (missing.length === 0) return { about, level: "ok", says: "are all applied" };
  return {
    about,
    level: "fail",
    says: `${missing.length} missing`,
    remedy: "run rowhouse migrate",
  };
}

/** Whether the setting PREVIEW is what `rowhouse migrate` recorded; without a setting, what was recorded. */
export async function examinePreviews(
  admin: Database,
  previews: readonly Preview[] | undefined,
): Promise<Finding> {
  const about = "previews";
  const show = (names: readonly Preview[]) =>
    names.length === 0 ? "none" : names.toSorted().join(", ");
  const recorded = show(await readPreviews(admin));
  if (previews === undefined || show(previews) === recorded)
    return { about, level: "ok", says: `on: ${recorded}` };
  return {
    about,
    level: "fail",
    says: `PREVIEW is ${show(previews)}, but rowhouse migrate recorded ${recorded}`,
    remedy: "run rowhouse migrate with this PREVIEW, or correct the setting",
  };
}

/** Whether every table's functions are those of this release. */
export async function examineFunctions(admin: Database): Promise<Finding> {
  const [outdated, uncallable] = [
    await findOutdatedTables(admin),
    await findUncallableTables(admin),
  ];
  return judgeFunctions(outdated.length, uncallable.length);
}

/** How many tables have functions from another release, and how many of those this release cannot call. */
function judgeFunctions(outdated: number, uncallable: number): Finding {
  const about = "functions";
  if (outdated === 0) return { about, level: "ok", says: "of all tables are from this release" };
  const tables = `${outdated} ${outdated === 1 ? "table" : "tables"}`;
  return {
    about,
    level: uncallable > 0 ? "fail" : "warn",
    says: `of ${tables} are from another release${uncallable > 0 ? ": this release cannot serve their rows" : ""}`,
    remedy: "run rowhouse migrate",
  };
}

/** A finding for each fault that the look at the isolation has found. */
export function judgeIsolation(faults: readonly string[]): Finding[] {
  const about = "isolation";
  if (faults.length === 0)
    return [{ about, level: "ok", says: "holds: row security, policies, owners, grants, roles" }];
  return faults.map((says) => ({
    about,
    level: "fail",
    says,
    remedy: "restore the object in the message: until then the service rejects requests",
  }));
}

/** While `rowhouse migrate` renews functions, none are compared; if it was killed, that stays so until it runs again. */
export function judgeRelease({ release }: Pick<Isolation, "release">): Finding[] {
  if (release !== null) return [];
  return [
    {
      about: "release",
      level: "warn",
      says: "rowhouse migrate has not finished, so the service does not check the bodies of functions",
      remedy: "run rowhouse migrate again, unless it is still running",
    },
  ];
}

/** Of a distributed database: apps elsewhere are served. */
export function judgeNodes({ away, added }: Pick<Isolation, "away" | "added">): Finding[] {
  const unprepared = added.map(
    (node): Finding => ({
      about: "nodes",
      level: "warn",
      says: `${node} was added but is not set up: it gets no rows`,
      remedy: "run rowhouse migrate",
    }),
  );
  const silent = away.map(
    (node): Finding => ({
      about: "nodes",
      level: "warn",
      says: `${node} does not respond: requests of apps on this node fail, and so does every push`,
      remedy: `start PostgreSQL on ${node}, then run rowhouse doctor again: its isolation is not checked until then`,
    }),
  );
  return [...unprepared, ...silent];
}
