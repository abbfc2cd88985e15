/**
 * `rowhouse migrate --contract`: removes what only processes of earlier releases need. Idempotent, also after a run that was killed:
 * first the database no longer lets them serve, then the rest goes step by step.
 *
 * @module
 */
import { showCount } from "../std/count.ts";
import { fillConstants, KEPT } from "./code/mod.ts";
import { splitStatements } from "./code/statements.ts";
import REMOVALS from "./contract.sql" with { type: "text" };
import { readDialect } from "./dialects.ts";
import { toBlockedError } from "./migrations/blockers.ts";
import {
  BECOME_OWNER,
  type Report,
  renderStart,
  send,
  UpgradeError,
} from "./migrations/message.ts";
import { IS_CONTRACTED_SQL, rejectMismatch, renderRecord } from "./migrations/migrate.ts";
import { MIGRATIONS } from "./migrations/mod.ts";
import { renderRenewal } from "./migrations/renew_code.ts";
import {
  compareMigrations,
  DIGEST,
  type MigrationState,
  releaseOf,
  showRelease,
} from "./migrations/state.ts";
import { type Database, readRows } from "./pool/mod.ts";
import { SIGNALS } from "./signals.ts";
import { CONTRACTED_FROM } from "./sql_constants.ts";
import { SignalError } from "./sqlstate.ts";

/** Something that goes, as an operator reads it, and the statement. */
type Removal = { readonly what: string; readonly statement: string };

const QUERIES = splitStatements(fillConstants(REMOVALS));

/** Removes what is left, and returns what that was. @throws {UpgradeError} the database does not allow it; nothing was changed */
export async function contract(admin: Database, report: Report): Promise<string[]> {
  const state = await readCurrent(admin);
  const done = state.isContracted ? [] : await removeKept(admin, report);
  for (const query of QUERIES)
    for (const { what, statement } of await readRows<Removal>(admin, query)) {
      await send(admin, `${renderStart("code", "false")}\n${BECOME_OWNER}\n${statement}`, report);
      report(`Removed: ${what}`);
      done.push(what);
    }
  return done;
}

/** What a run would remove. @throws {UpgradeError} as `contract` */
export async function planContract(admin: Database): Promise<string[]> {
  const { isContracted } = await readCurrent(admin);
  if (!isContracted) await rejectEarlier(admin);
  return [...(isContracted ? [] : [OF_KEPT]), ...(await listRemovals(admin))];
}

/** Whether a run would remove something: it never began, or was killed. */
export async function canContract(db: Database): Promise<boolean> {
  const { isContracted } = await compareMigrations(db);
  return !isContracted || (await listRemovals(db)).length > 0;
}

const OF_KEPT = `${showCount(Object.keys(KEPT.functions).length, "function")} that only releases before ${CONTRACTED_FROM} call`;

async function listRemovals(db: Database): Promise<string[]> {
  const found: string[] = [];
  for (const query of QUERIES)
    found.push(...(await readRows<Removal>(db, query)).map(({ what }) => what));
  return found;
}

async function readCurrent(admin: Database): Promise<MigrationState> {
  const state = await compareMigrations(admin);
  rejectMismatch(state);
  if (state.later !== undefined)
    throw new UpgradeError(
      `The database was upgraded by Rowhouse ${showRelease(state.later)}: run rowhouse migrate --contract of that release`,
    );
  if (state.missing.length > 0 || !state.hasCode)
    throw new UpgradeError(
      "The database is not upgraded to this release: run rowhouse migrate first, and restart all processes with this release",
    );
  return state;
}

type Earlier = { version: string; processes: number; until: string };

async function rejectEarlier(admin: Database): Promise<void> {
  const found = await readRows<Earlier>(
    admin,
    "select version, processes, pg_catalog.to_json(seen_at) as until from rowhouse.earlier_processes()",
  );
  if (found.length === 0) return;
  const lines = found.map(
    ({ version, processes, until }) =>
      `  ${showCount(processes, "process", "processes")} of ${version}, until ${new Date(until).toISOString().slice(0, 19)}Z`,
  );
  throw new UpgradeError(
    `Processes of releases before ${CONTRACTED_FROM} have used the database in the last hour, and cannot use it after this. Restart all with this release, and run this again an hour later:\n${lines.join("\n")}`,
  );
}

/** Ends the use by earlier releases. */
async function removeKept(admin: Database, report: Report): Promise<string[]> {
  const state = { hasCode: true, isContracted: true };
  const text = `${renderStart("code", IS_CONTRACTED_SQL)}
${BECOME_OWNER}
do $rowhouse$ begin
  if exists (select from rowhouse.earlier_processes()) then
    raise exception 'processes of an earlier release ran' using errcode = '${SIGNALS.earlierProcesses}';
  end if;
end $rowhouse$;
${renderRenewal(await readDialect(admin), "renew", state)}
${renderRecord(releaseOf(MIGRATIONS), { digest: DIGEST, isContracted: true })}`;
  const rows = await send(admin, text, report).catch(async (error: unknown) => {
    if (error instanceof SignalError && error.signal === SIGNALS.earlierProcesses)
      await rejectEarlier(admin);
    throw toBlockedError(error) ?? error;
  });
  // A concurrent run was faster.
  if (rows === undefined) return [];
  report(`Removed: ${OF_KEPT}`);
  return [OF_KEPT];
}
