/**
 * Objects in the database that are not Rowhouse's and are in the way of an upgrade: they have a name that a missing file
 * creates, or use a function that this release drops. Found before the first change, and locks no table.
 *
 * @module
 */
import { splitStatements } from "../code/statements.ts";
import { readDialect } from "../dialects.ts";
import { type Database, readRows } from "../pool/mod.ts";
import { SIGNALS } from "../signals.ts";
import { SignalError } from "../sqlstate.ts";
import { readRun } from "./long_step.ts";
import { BECOME_OWNER, renderTrial, UpgradeError } from "./message.ts";
import type { ServiceMigration } from "./mod.ts";
import { type Blocker, renderRenewal } from "./renew_code.ts";
import { readRecord } from "./state.ts";

/** Sends a message that waits for other migrations. */
export type Send = <Row>(text: string) => Promise<Row[] | undefined>;

type Planned = { missing: readonly ServiceMigration[]; isContracted: boolean };

/** @throws {UpgradeError} lists every object that is in the way */
export async function rejectBlockers(
  admin: Database,
  { missing, isContracted }: Planned,
  sendWaiting: Send,
): Promise<void> {
  if (missing.length === 0) return;
  const isSetUp = missing.every(({ number }) => number !== 1);
  const taken = await findTaken(admin, missing);
  // Another process can have applied the files since the caller read what is missing.
  if (taken.length > 0 && (await isOutdated(admin, missing))) return;
  const users = isSetUp ? await findUsers(admin, isContracted, sendWaiting) : [];
  if (taken.length + users.length > 0) throw new BlockedError(taken, users);
}

async function isOutdated(admin: Database, missing: readonly ServiceMigration[]): Promise<boolean> {
  const { applied } = await readRecord(admin);
  return missing.some(({ number }) => applied.has(number));
}

/** Of the renewal of the code; `undefined` if the error is another. */
export function toBlockedError(error: unknown): UpgradeError | undefined {
  if (!(error instanceof SignalError) || error.signal !== SIGNALS.upgradeBlocked) return undefined;
  return new BlockedError([], JSON.parse(error.detail ?? "[]"));
}

class BlockedError extends UpgradeError {
  constructor(taken: readonly string[], users: readonly Blocker[]) {
    const lines = [
      ...taken.map((object) => `${object} has a name that this release creates: rename or drop it`),
      ...users.map(
        ([object, used]) =>
          `${object} uses the function ${used}, which this release drops: drop it`,
      ),
    ];
    super(
      `Objects that are not Rowhouse's are in the way of the upgrade. Nothing was changed:\n  ${lines.join("\n  ")}`,
    );
  }
}

async function findUsers(
  admin: Database,
  isContracted: boolean,
  sendWaiting: Send,
): Promise<readonly Blocker[]> {
  const renewal = renderRenewal(await readDialect(admin), "check", { isContracted });
  const steps = [BECOME_OWNER, renewal];
  const [row] = (await sendWaiting<{ found: readonly Blocker[] }>(renderTrial(steps))) ?? [];
  return row?.found ?? [];
}

const CREATED =
  /^create (?:unlogged )?(schema|table|sequence|type|view|(?:unique )?index) ([\w.]+)/;
const ADDED = /\badd column (\w+)/g;
const ALTERED = /^alter table (?:only )?rowhouse\.(\w+)/;

type Created = { schema: string; name: string; column: string | null };

/** Long files can find their index, because they can be interrupted. */
function readCreated(missing: readonly ServiceMigration[]): Created[] {
  return missing
    .filter((migration) => readRun(migration) === "in one transaction")
    .flatMap(({ sql }) => splitStatements(sql))
    .flatMap((statement): Created[] => {
      const [, kind, path = ""] = CREATED.exec(statement) ?? [];
      if (kind === "schema") return [{ schema: path, name: "", column: null }];
      const name = path.replace(/^\w+\./, "");
      if (kind !== undefined) return [{ schema: "rowhouse", name, column: null }];
      const [, table] = ALTERED.exec(statement) ?? [];
      if (table === undefined) return [];
      return [...statement.matchAll(ADDED)].map(([, column = ""]) => ({
        ...{ schema: "rowhouse", name: table },
        column,
      }));
    });
}

async function findTaken(
  admin: Database,
  missing: readonly ServiceMigration[],
): Promise<readonly string[]> {
  const rows = await readRows<{ object: string }>(
    admin,
    `with created as (
      select * from pg_catalog.jsonb_to_recordset($1::pg_catalog.text::pg_catalog.jsonb)
        as listed (schema text, name text, "column" text)
    ), schemas as (
      select created.*, pg_namespace.oid as space from created
      join pg_catalog.pg_namespace on nspname = schema
    ), found (class, object, part) as (
      select 'pg_catalog.pg_namespace'::pg_catalog.regclass, space, 0 from schemas where name = ''
      union all
      select 'pg_catalog.pg_class'::pg_catalog.regclass, pg_class.oid, 0 from schemas
        join pg_catalog.pg_class on relnamespace = space and relname = name where "column" is null
      union all
      select 'pg_catalog.pg_type'::pg_catalog.regclass, pg_type.oid, 0 from schemas
        join pg_catalog.pg_type on typnamespace = space and typname = name
        where "column" is null and typrelid = 0
      union all
      select 'pg_catalog.pg_class'::pg_catalog.regclass, attrelid, attnum from schemas
        join pg_catalog.pg_class on relnamespace = space and relname = name
        join pg_catalog.pg_attribute on attrelid = pg_class.oid and attname = "column"
    )
    select pg_catalog.pg_describe_object(class, object, part) as object from found order by 1`,
    [JSON.stringify(readCreated(missing))],
  );
  return rows.map(({ object }) => object);
}
