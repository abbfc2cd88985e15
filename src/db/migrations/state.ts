/**
 * Compares a database with this release: which numbered files are applied, and whose code it has. A database of a later
 * release says which releases may still serve it. Pure, except for the read.
 *
 * @module
 */
import { compareVersions, isVersion, VERSION } from "../../std/version.ts";
import { DIALECTS } from "../dialects.ts";
import { type Database, readRows } from "../pool/mod.ts";
import { CONTRACTED_FROM } from "../sql_constants.ts";
import { ADOPTED, checksum, MIGRATIONS, type ServiceMigration } from "./mod.ts";
import { digestCode } from "./renew_code.ts";

/** What identifies a release to a database. */
export type Release = {
  readonly version: string;
  /** The highest number of its tables. */
  readonly tables: number;
};

/**
 * The earliest release that keeps working on the database of this release. Raise both when a file drops what that release
 * uses, or the code drops a function that it calls.
 */
export const COMPATIBLE_FROM: Release = { version: "0.1.0", tables: 2 };
/** The same after `rowhouse migrate --contract`, and in a new database. */
export const CONTRACTED: Release = { version: CONTRACTED_FROM, tables: 12 };

export const DIGEST = digestCode(Object.values(DIALECTS));

/** What a database records of its release. */
type CodeRecord = Release & { readonly digest: string; readonly compatibleFrom: Release };

export type MigrationRecord = {
  readonly applied: ReadonlyMap<number, string>;
  readonly code: CodeRecord | undefined;
};

/** A database, compared with this release. */
export type MigrationState = {
  /** The numbers of missing migrations. */
  missing: number[];
  /** The numbers that the database has recorded with another text. */
  edited: number[];
  /** The numbers that the database has recorded, if one before them is missing. */
  gap: { numbers: number[]; without: number } | undefined;
  /** The later release that has upgraded the database, and the releases that it lets serve. */
  later: (Release & { compatibleFrom: Release; allowsUs: boolean }) | undefined;
  /** Whether the database has the code of this release. */
  hasCode: boolean;
  /** Whether it has nothing for releases before `CONTRACTED_FROM`, and does not let them serve. */
  isContracted: boolean;
};

export function releaseOf(migrations: readonly ServiceMigration[]): Release {
  return { version: VERSION, tables: migrations.at(-1)?.number ?? 0 };
}

/** How this release finds the database; every text of a message or a check comes from here. */
export async function compareMigrations(
  db: Database,
  migrations: readonly ServiceMigration[] = MIGRATIONS,
): Promise<MigrationState> {
  return compareRecord(await readRecord(db), migrations);
}

function compareRecord(
  { applied, code }: MigrationRecord,
  migrations: readonly ServiceMigration[] = MIGRATIONS,
): MigrationState {
  const ours = releaseOf(migrations);
  const differs = (migration: ServiceMigration) => {
    const recorded = applied.get(migration.number);
    return recorded !== undefined && recorded !== checksum(migration);
  };
  const edited = migrations.filter(differs).map(({ number }) => number);
  const first = applied.get(1);
  const isAdopted = first !== undefined && ADOPTED.includes(first);
  return {
    missing: migrations.map(({ number }) => number).filter((number) => !applied.has(number)),
    edited: edited.filter((number) => number !== 1 || !isAdopted),
    gap: findGap([...applied.keys()], migrations),
    later: findLater({ applied, code }, ours),
    hasCode: code?.digest === DIGEST,
    isContracted:
      code === undefined || compareVersions(code.compatibleFrom.version, CONTRACTED_FROM) >= 0,
  };
}

/** Files are applied in order: without an earlier one, a record was removed. */
function findGap(
  numbers: readonly number[],
  migrations: readonly ServiceMigration[],
): MigrationState["gap"] {
  const last = Math.max(0, ...numbers);
  const without = migrations.find(({ number }) => number < last && !numbers.includes(number));
  return without && { numbers: numbers.toSorted((a, b) => a - b), without: without.number };
}

function findLater({ applied, code }: MigrationRecord, ours: Release): MigrationState["later"] {
  const tables = Math.max(0, ...applied.keys());
  const version = code?.version ?? UNKNOWN;
  const isLater =
    tables > ours.tables || (code !== undefined && compareVersions(code.version, VERSION) > 0);
  if (!isLater) return undefined;
  const compatibleFrom = code?.compatibleFrom ?? { version, tables };
  // A record that is older than the tables is of a release before the one that changed them.
  const isCurrent = code !== undefined && code.tables >= tables;
  const allowsUs =
    isCurrent &&
    compareVersions(ours.version, compatibleFrom.version) >= 0 &&
    ours.tables >= compatibleFrom.tables;
  return { version, tables, compatibleFrom, allowsUs };
}

/** Instead of a version, if the database has none that this release can read. */
const UNKNOWN = "unknown";
const toVersion = (text: string) => (isVersion(text) ? text : UNKNOWN);

/** The number of the file that creates `rowhouse.code`. */
const CODE_TABLE = 2;

export async function readRecord(db: Database): Promise<MigrationRecord> {
  const [found] = await readRows<{ migrations: boolean }>(
    db,
    "select pg_catalog.to_regclass('rowhouse.service_migrations') is not null as migrations",
  );
  const applied = found?.migrations
    ? await readRows<{ number: number; checksum: string }>(
        db,
        "select number, checksum from rowhouse.service_migrations",
      )
    : [];
  // Another table can have the name before the file that creates it.
  const [code] = applied.some(({ number }) => number === CODE_TABLE)
    ? await readRows<CodeRecord>(
        db,
        `select digest, version, tables, pg_catalog.json_build_object('version', compatible_from,
          'tables', compatible_tables) as "compatibleFrom" from rowhouse.code`,
      )
    : [];
  return {
    applied: new Map(applied.map((row) => [row.number, row.checksum])),
    code: code && {
      ...code,
      version: toVersion(code.version),
      compatibleFrom: {
        ...code.compatibleFrom,
        version: toVersion(code.compatibleFrom.version),
      },
    },
  };
}

/** A database that this release does not use: what is wrong, and what to do. */
export type Mismatch = { readonly message: string; readonly remedy: string };

const BEFORE_THE_FIRST_RELEASE: Mismatch = {
  message: "was set up by a build before 0.1.0, and cannot be upgraded",
  remedy:
    "set up a new database, or run rowhouse dev --reset if it is the embedded database of rowhouse dev and its rows are not needed",
};

/** Why no process or command of this release may use the database; `undefined` if they may. */
export function findMismatch(state: MigrationState): Mismatch | undefined {
  const { edited, gap, later } = state;
  const [number] = edited;
  if (number === 1) return BEFORE_THE_FIRST_RELEASE;
  if (number !== undefined && later === undefined)
    return {
      message: `has another text of migration ${number} than this release`,
      remedy: "use the release that applied it, or a later one: an applied file never changes",
    };
  if (gap !== undefined)
    return {
      message: `has migrations ${gap.numbers.join(", ")} without ${gap.without}`,
      remedy:
        "its record was changed, so restore rowhouse.service_migrations from a backup (docs/operating.md)",
    };
  if (later === undefined || later.allowsUs) return undefined;
  const { version, tables } = releaseOf(MIGRATIONS);
  const from = later.compatibleFrom;
  return {
    message: `was upgraded by Rowhouse ${showRelease(later)}, which does not let ${showRelease({ version, tables })} use it`,
    remedy:
      from.version === UNKNOWN
        ? "install the release that upgraded it, or restore the backup from before the upgrade (docs/operating.md)"
        : `install ${showRelease(from)} or later, or restore the backup from before the upgrade (docs/operating.md)`,
  };
}

export function showRelease({ version, tables }: Release): string {
  return `${version} (tables ${tables})`;
}

/** Enough of a digest to tell releases apart. */
const DIGEST_CHARS = 12;

export const RELEASE = {
  ...releaseOf(MIGRATIONS),
  code: DIGEST.replace("sha256:", "").slice(0, DIGEST_CHARS),
};

/** As processes report it, and as operators read it. */
export const RELEASE_TEXT = `${RELEASE.version} (tables ${RELEASE.tables}, code ${RELEASE.code})`;
