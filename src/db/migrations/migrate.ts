/**
 * `rowhouse migrate`: the service's own roles, tables and code. Idempotent, also concurrently, and after a process that was
 * killed. Changes nothing in a database that this release cannot upgrade.
 *
 * @module
 */

import { quoteLiteral } from "../../std/quote.ts";
import { readDialect } from "../dialects.ts";
import type { Database } from "../pool/mod.ts";
import { readRun, runLongStep } from "./long_step.ts";
import { type Report, renderStart, send, UpgradeError } from "./message.ts";
import { checksum, MIGRATIONS, type ServiceMigration } from "./mod.ts";
import { type CodeChanges, renderRenewal } from "./renew_code.ts";
import MAKE_ROLES from "./roles.sql" with { type: "text" };
import {
  COMPATIBLE_FROM,
  compareMigrations,
  DIGEST,
  findMismatch,
  type MigrationState,
  OTHER_BASELINE,
  type Release,
  releaseOf,
} from "./state.ts";

/** The tables are from before the first numbered file. */
export class BaselineError extends UpgradeError {
  constructor() {
    super(`This database ${OTHER_BASELINE.message}: ${OTHER_BASELINE.remedy}`);
  }
}

export type Migrated = {
  /** The names of the applied files. */
  applied: string[];
  /** What changed in the code; `undefined` if it was current. */
  code: CodeChanges | undefined;
  /** The later release of the database, which was not changed. */
  later: MigrationState["later"];
};

export type MigrateOptions = {
  readonly migrations?: readonly ServiceMigration[];
  readonly report?: Report;
  /** The caller moves rows into the database. */
  readonly isMoving?: boolean;
};

/** @throws {UpgradeError} this release cannot use the database */
export function rejectMismatch(state: MigrationState): void {
  if (state.isOtherBaseline && !state.isMoving) throw new BaselineError();
  const mismatch = findMismatch(state);
  if (mismatch !== undefined)
    throw new UpgradeError(`This database ${mismatch.message}: ${mismatch.remedy}`);
}

/**
 * Applies the missing files in order, and then the code. Changes nothing in a database of a later release.
 *
 * @throws {UpgradeError} this release cannot use the database; nothing was changed
 */
export async function migrate(
  admin: Database,
  { migrations = MIGRATIONS, report = () => undefined, isMoving = false }: MigrateOptions = {},
): Promise<Migrated> {
  const state = await compareMigrations(admin, migrations);
  rejectMismatch(isMoving ? { ...state, isMoving: false } : state);
  const { later } = state;
  if (later !== undefined) return { applied: [], code: undefined, later };
  const release = releaseOf(migrations);
  const applied: string[] = [];
  for (const migration of migrations) {
    if (!state.missing.includes(migration.number)) continue;
    if (readRun(migration) !== "in one transaction") await runLongStep(admin, migration, report);
    if ((await send(admin, renderFile(migration, release), report)) === undefined) continue;
    applied.push(migration.name);
    report(`Applied ${migration.name}`);
  }
  if (state.hasCode) return { applied, code: undefined, later };
  const dialect = await readDialect(admin);
  const text = renderCode(renderRenewal(dialect), release);
  const [row] = (await send<{ changes: CodeChanges }>(admin, text, report)) ?? [];
  return { applied, code: row?.changes, later };
}

/** Another administrator than the one who set up the database is not a member of its owner yet. */
export const BECOME_OWNER = `do $$ begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
    and not pg_catalog.pg_has_role(current_user, 'rowhouse_owner', 'usage')
  then
    execute pg_catalog.format('grant rowhouse_owner to %I', current_user);
  end if;
end $$;
set local role rowhouse_owner;`;

function renderFile(migration: ServiceMigration, release: Release): string {
  const { number, name, sql } = migration;
  return `${renderStart(
    "service_migrations",
    `exists (select from rowhouse.service_migrations where number = ${number})`,
  )}
${number === 1 ? MAKE_ROLES : BECOME_OWNER}
${readRun(migration) === "in one transaction" ? sql : ""}
insert into rowhouse.service_migrations (number, name, checksum)
values (${number}, ${quoteLiteral(name)}, ${quoteLiteral(checksum(migration))});
${number === 1 ? "" : renderRecord(release, undefined)}
select ${number} as number;`;
}

function renderCode(renewal: string, release: Release): string {
  return `${renderStart("code", `exists (select from rowhouse.code where digest = ${quoteLiteral(DIGEST)})`)}
${MAKE_ROLES}
${BECOME_OWNER}
${renewal}
${renderRecord(release, DIGEST)}
select pg_catalog.current_setting('rowhouse.renewed')::pg_catalog.json as changes;`;
}

/** From the first change on, the database says which earlier releases may still serve it. */
function renderRecord({ version, tables }: Release, digest: string | undefined): string {
  const from = COMPATIBLE_FROM;
  const values = [quoteLiteral(version), tables, quoteLiteral(from.version), from.tables];
  return `insert into rowhouse.code (digest, version, tables, compatible_from, compatible_tables)
values (${[quoteLiteral(digest ?? ""), ...values].join(", ")})
on conflict (is_only) do update set (digest, version, tables, compatible_from, compatible_tables,
  renewed_at) = (${[digest === undefined ? "code.digest" : "excluded.digest", ...values].join(", ")},
  ${digest === undefined ? "code.renewed_at" : "pg_catalog.now()"});`;
}
