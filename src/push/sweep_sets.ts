/** Drops the functions of column sets that no app has used for an hour; part of `rowhouse migrate`. @module */
import { call, type Database, DIALECTS, type DialectName, quoteLiteral } from "../db/mod.ts";
import { renderDropFunctions } from "./functions.ts";
import { renderForgetSets, renderLockTable } from "./message.ts";
import { MESSAGE_SETTINGS, MESSAGE_TIMEOUT_MS } from "./message_settings.ts";
import { isExpired, planDrop, UNUSED_SET_LIFE_S } from "./plan_sets.ts";
import { readMessageResult } from "./rejections.ts";
import type { RecordedSet } from "./state.ts";

type Table = { name: string; stamp: number; sets: RecordedSet[]; dialect: DialectName };

/** Skips tables with a running push: that push or the next sweep drops their functions. */
export async function sweepSets(admin: Database): Promise<void> {
  const tables = (await call(admin, "find_unused_sets", {
    unused_s: UNUSED_SET_LIFE_S,
  })) as Table[];
  for (const { name, stamp, sets, dialect } of tables) {
    const removed = sets.filter(isExpired);
    const left = sets.filter((set) => !isExpired(set)).map(({ hash }) => hash);
    const messages = planDrop(name, removed, left).map((step) =>
      [
        renderLockTable(name, stamp),
        ...MESSAGE_SETTINGS,
        ...step.hashes
          .flatMap((hash) => renderDropFunctions({ table: name, hash }))
          .map(DIALECTS[dialect].toStatement),
        renderForgetSets(step),
        `select ${quoteLiteral(name)} as name`,
      ].join(";\n"),
    );
    for (const text of messages)
      await admin.message(text, { timeoutMs: MESSAGE_TIMEOUT_MS }).catch(readMessageResult);
  }
}
