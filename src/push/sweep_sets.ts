/** Drops the functions of sets of columns that no app has been served for an hour; part of `rowhouse migrate`. @module */
import { type Database, IS_DISTRIBUTED_SQL, quoteLiteral, SERVICE_QUEUE } from "../db/mod.ts";
import { toBlock } from "./distributed.ts";
import { renderDropFunctions } from "./functions.ts";
import { renderForgetSets, renderLockTable } from "./message.ts";
import { MESSAGE_SETTINGS, MESSAGE_TIMEOUT_MS } from "./message_settings.ts";
import { isExpired, KEPT_S, planDrop } from "./plan_sets.ts";
import { readMessageResult } from "./refusals.ts";
import type { RecordedSet } from "./state.ts";

type Table = { name: string; stamp: number; sets: RecordedSet[]; isDistributed: boolean };

/** Drops what it can; a table that is being pushed right now is left to that push, or to the next sweep. */
export async function sweepSets(admin: Database): Promise<void> {
  for (const { name, stamp, sets, isDistributed } of await findTables(admin)) {
    const gone = sets.filter(isExpired);
    const left = sets.filter((set) => !isExpired(set)).map(({ hash }) => hash);
    const messages = planDrop(name, gone, left).map((step) =>
      [
        renderLockTable(name, stamp),
        ...MESSAGE_SETTINGS,
        ...step.hashes
          .flatMap((hash) => renderDropFunctions({ table: name, hash }))
          .map(isDistributed ? toBlock : (statement) => statement),
        renderForgetSets(step),
        `select ${quoteLiteral(name)} as name`,
      ].join(";\n"),
    );
    for (const text of messages)
      await admin.message(text, { timeoutMs: MESSAGE_TIMEOUT_MS }).catch(readMessageResult);
  }
}

async function findTables(admin: Database): Promise<Table[]> {
  const [row] = await admin.query<{ tables: string }>(
    `select coalesce(json_agg(json_build_object('name', name, 'isDistributed', ${IS_DISTRIBUTED_SQL},
        'stamp', greatest(version, (select max(version) from rowhouse.registrations where table_name = name)),
        'sets', (select json_agg(json_build_object('appId', app_id, 'hash', hash,
            'unusedS', extract(epoch from now() - unused_since)::pg_catalog.float8))
          from rowhouse.column_sets where table_name = name)) order by name), '[]')::text as tables
    from rowhouse.tables where name in (
      select table_name from rowhouse.column_sets where unused_since < now() - make_interval(secs => ${KEPT_S}))`,
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return JSON.parse(row?.tables ?? "[]") as Table[];
}
