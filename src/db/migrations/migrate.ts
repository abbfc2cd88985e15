/**
 * `rowhouse migrate`: the service's own roles, tables and code. Idempotent, also concurrently, and after a process that was
 * killed. Changes nothing in a database that this release cannot upgrade.
 *
 * @module
 */

import { quoteLiteral } from "../../std/quote.ts";
import { readDialect } from "../dialects.ts";
import type { Database } from "../pool/mod.ts";
import { rejectBlockers, toBlockedError } from "./blockers.ts";
import { readRun, runLongStep } from "./long_step.ts";
import { BECOME_OWNER, type Report, renderStart, send, UpgradeError } from "./message.ts";
import { checksum, MIGRATIONS, type ServiceMigration } from "./mod.ts";
import { type CodeChanges, isSame, renderRenewal } from "./renew_code.ts";
import MAKE_ROLES from "./roles.sql" with { type: "text" };
import {
  COMPATIBLE_FROM,
  CONTRACTED,
  compareMigrations,
  DIGEST,
  findMismatch,
  type MigrationState,
  type Release,
  releaseOf,
} from "./state.ts";

export type Migrated = {
  /** The names of the applied files. */
  applied: string[];
  /** What changed in the code; `undefined` if nothing differed. */
  code: CodeChanges | undefined;
  /** The later release of the database, which was not changed. */
  later: MigrationState["later"];
};

type MigrateOptions = {
  readonly migrations?: readonly ServiceMigration[];
  readonly report?: Report;
  /** Whether a new database has what only earlier releases need, as one that they have set up. */
  readonly keepsEarlier?: boolean;
};

/** @throws {UpgradeError} this release cannot use the database */
export function rejectMismatch(state: MigrationState): void {
  const mismatch = findMismatch(state);
  if (mismatch !== undefined)
    throw new UpgradeError(`This database ${mismatch.message}: ${mismatch.remedy}`);
}

/**
 * Applies the missing files in order, and then the code: all in one transaction after the last long file, so a failed upgrade
 * without long files changes nothing. Always compares the code: a database can lose functions and rights. Changes nothing in
 * a database of a later release.
 *
 * @throws {UpgradeError} this release cannot use the database, or objects of others are in the way; nothing was changed
 */
export async function migrate(
  admin: Database,
  { migrations = MIGRATIONS, report = () => undefined, keepsEarlier = false }: MigrateOptions = {},
): Promise<Migrated> {
  const release = releaseOf(migrations);
  const applied: string[] = [];
  for (let isChecked = false; ; isChecked = true) {
    const state = await compareMigrations(admin, migrations);
    rejectMismatch(state);
    const { later, hasCode } = state;
    const isContracted = state.isContracted && !keepsEarlier;
    if (later !== undefined) return { applied, code: undefined, later };
    const missing = migrations.filter(({ number }) => state.missing.includes(number));
    if (!isChecked)
      await rejectBlockers(admin, { missing, isContracted }, (text) =>
        send(admin, `${renderStart("code", "false")}\n${text}`, report),
      );
    const isLast = missing.every((migration) => readRun(migration) === "in one transaction");
    const part = isLast ? missing : missing.slice(0, 1);
    for (const migration of part) {
      if (readRun(migration) !== "in one transaction") await runLongStep(admin, migration, report);
    }
    const dialect = await readDialect(admin);
    const renewal = isLast ? renderRenewal(dialect, "renew", { hasCode, isContracted }) : undefined;
    const text = renderPart(part, release, {
      ...{ renewal, isContracted, runMigration: dialect.runMigration },
    });
    const [row] = (await sendPart(admin, text, report)) ?? [];
    // A concurrent process was faster.
    if (row === undefined) continue;
    for (const { name } of part) {
      applied.push(name);
      report(`Applied ${name}`);
    }
    if (!isLast) continue;
    const { rows, ...code } = row.renewed;
    return { applied, code: hasCode && isSame(code) && rows === 0 ? undefined : code, later };
  }
}

type Renewed = CodeChanges & { rows: number };

async function sendPart(admin: Database, text: string, report: Report) {
  try {
    return await send<{ renewed: Renewed }>(admin, text, report);
  } catch (error) {
    throw toBlockedError(error) ?? error;
  }
}

type Rest = {
  renewal: string | undefined;
  isContracted: boolean;
  runMigration: (sql: string) => string;
};

/** Files, and after the last one the code. */
function renderPart(
  part: readonly ServiceMigration[],
  release: Release,
  { renewal, isContracted, runMigration }: Rest,
): string {
  const isFirst = part.some(({ number }) => number === 1);
  const files = part.map(
    (
      migration,
    ) => `${readRun(migration) === "in one transaction" ? renderFile(migration, runMigration) : ""}
insert into rowhouse.service_migrations (number, name, checksum)
values (${migration.number}, ${quoteLiteral(migration.name)}, ${quoteLiteral(checksum(migration))});`,
  );
  const numbers = part.map(({ number }) => number);
  return `${renderStart(
    "service_migrations",
    `exists (select from rowhouse.service_migrations
      where number = any ('{${numbers.join(", ")}}') or number > ${release.tables})`,
  )}
${isContracted ? "" : renderStart("code", IS_CONTRACTED_SQL)}
${isFirst || renewal !== undefined ? MAKE_ROLES : ""}
${isFirst ? "" : BECOME_OWNER}
${files.join("\n")}
${renewal ?? ""}
${isFirst && renewal === undefined ? "" : renderRecord(release, { digest: renewal === undefined ? undefined : DIGEST, isContracted })}
select nullif(pg_catalog.current_setting('rowhouse.renewed', true), '')::pg_catalog.json as renewed;`;
}

/** Parsed with the settings of the message: the files contain texts with backslashes. */
function renderFile({ sql }: ServiceMigration, run: Rest["runMigration"]): string {
  return `do $rowhouse$ begin ${run(sql)} end $rowhouse$;`;
}

/** Whether a concurrent `rowhouse migrate --contract` was faster. */
export const IS_CONTRACTED_SQL = `exists (select from rowhouse.code where compatible_from = '${CONTRACTED.version}')`;

type CodeRecord = { digest: string | undefined; isContracted: boolean };

/** From the first change on, the database says which earlier releases may still serve it. */
export function renderRecord(
  { version, tables }: Release,
  { digest, isContracted }: CodeRecord,
): string {
  const from = isContracted ? CONTRACTED : COMPATIBLE_FROM;
  const values = [quoteLiteral(version), tables, quoteLiteral(from.version), from.tables];
  return `insert into rowhouse.code (digest, version, tables, compatible_from, compatible_tables)
values (${[quoteLiteral(digest ?? ""), ...values].join(", ")})
on conflict (is_only) do update set (digest, version, tables, compatible_from, compatible_tables,
  renewed_at) = (${[digest === undefined ? "code.digest" : "excluded.digest", ...values].join(", ")},
  ${digest === undefined ? "code.renewed_at" : "pg_catalog.now()"})
where (code.digest, code.version, code.tables, code.compatible_from, code.compatible_tables)
  is distinct from (${[digest === undefined ? "code.digest" : "excluded.digest", ...values].join(", ")});`;
}
