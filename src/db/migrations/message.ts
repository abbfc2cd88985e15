/**
 * Sends the messages of a migration: one at a time in a database, repeated if they collide with other transactions, and
 * without blocking requests.
 *
 * @module
 */
import { quoteLiteral } from "../../std/quote.ts";
import type { Database } from "../pool/mod.ts";
import { SIGNALS } from "../signals.ts";
import { ONLY_HERE, PLAIN_TEXT } from "../sql_constants.ts";
import { readSqlState, SignalError } from "../sqlstate.ts";
import { MIGRATE_LOCK } from "./roles.ts";

/** Roles are shared by all databases of a cluster: concurrent set-ups can collide on their catalog rows. */
const COLLISIONS = new Set(["XX000", "23505", "40001", "40P01"]);
const ATTEMPTS = 8;

/** Requests wait behind a statement that waits for a table, so each wait is short, and repeated. */
const LOCK_TIMEOUT_MS = 200;
const LOCK_PATIENCE_MS = 60_000;
const LOCK_REJECTED = "55P03";

const MESSAGE_TIMEOUT_MS = 600_000;

export type Report = (line: string) => void;

/** The database is not one that this release can use or upgrade. */
export class UpgradeError extends Error {}

/**
 * The rows of a message; `undefined` if a concurrent process was faster.
 *
 * @throws {UpgradeError} other transactions have locked a table for a minute
 */
export async function send<Row>(
  admin: Database,
  text: string,
  report: Report,
  patienceMs = LOCK_PATIENCE_MS,
): Promise<Row[] | undefined> {
  const startedAt = performance.now();
  let collisions = 0;
  for (let waits = 0; ; ) {
    try {
      return await admin.message<Row>(text, { timeoutMs: MESSAGE_TIMEOUT_MS });
    } catch (error) {
      if (error instanceof SignalError && error.signal === SIGNALS.alreadyMigrated)
        return undefined;
      const state = readSqlState(error) ?? "";
      if (state === LOCK_REJECTED) {
        if (performance.now() - startedAt > patienceMs) throw toLockError(error);
        if (waits++ === 0) report("Waiting for a table that another transaction has locked");
        await Bun.sleep(LOCK_TIMEOUT_MS * (1 + Math.random()));
      } else {
        collisions += 1;
        if (collisions === ATTEMPTS || !COLLISIONS.has(state)) throw error;
        await Bun.sleep(50 * collisions);
      }
    }
  }
}

function toLockError(cause: unknown): UpgradeError {
  return new UpgradeError(
    "Cannot lock a table of the service: other transactions have used it for a minute; end long transactions (pg_stat_activity), then run rowhouse migrate again",
    { cause },
  );
}

/** Waits for other migrations, and ends the message if `isDone`, which reads a table that may not exist. */
export function renderStart(table: string, isDone: string): string {
  // A cluster would repeat each statement on its other nodes, as a role that cannot log in there.
  return `
${ONLY_HERE};
set local search_path = pg_catalog, pg_temp;
${PLAIN_TEXT}
do $rowhouse$
begin
  perform ${MIGRATE_LOCK};
  -- The catalog itself is read: names looked up before the wait are remembered as unknown.
  if exists (
    select from pg_catalog.pg_class join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
    where nspname = 'rowhouse' and relname = '${table}'
  ) then
    if ${isDone} then
      raise exception 'already applied' using errcode = '${SIGNALS.alreadyMigrated}';
    end if;
  end if;
end
$rowhouse$;
set local lock_timeout = '${LOCK_TIMEOUT_MS}ms';`;
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

/** Runs a renewal after other steps, undoes everything, and returns what it found: `null` if a handler ended it. */
export function renderTrial(steps: readonly string[], handler = ""): string {
  return `do $trial$
declare
  found text;
begin
  begin
    ${steps.map((step) => `execute ${quoteLiteral(step)};`).join("\n    ")}
    found := pg_catalog.current_setting('rowhouse.renewed');
    raise exception using errcode = '${SIGNALS.tryUndone}';
  exception
    when sqlstate '${SIGNALS.tryUndone}' then null; -- undoes everything except the variable
    ${handler}
  end;
  perform pg_catalog.set_config('rowhouse.renewed', coalesce(found, 'null'), true);
end
$trial$;
select pg_catalog.current_setting('rowhouse.renewed')::pg_catalog.json as found`;
}
