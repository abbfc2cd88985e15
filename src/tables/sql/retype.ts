/**
 * Retypes a column: adds and fills a copy of it, so that the push only has to swap the two. Each message is short and
 * leaves a state from which the same request continues, also after a crash. Until the swap, requests use the old column.
 *
 * @module
 */
import { type Database, ViolationError } from "../../db/mod.ts";
import type { Problem } from "../../problem.ts";
import type { Change } from "../plan/change.ts";
import { rejectChange } from "../plan/plan_change.ts";
import { busy, isDrift, readMessageResult } from "../plan/rejections.ts";
import {
  type Copied,
  MESSAGE_TIMEOUT_MS,
  renderBatch,
  renderBegin,
  renderCancel,
  renderHorizon,
  renderSettle,
  type Swap,
} from "../plan/retype_messages.ts";
import type { TableState } from "../state.ts";
import { renderLockTable } from "./message.ts";

/** Max time that one request copies rows, so that gateways do not time out. The command repeats unfinished requests. */
const COPYING_MS = 15_000;
const MAX_TRIES = 5;
const TRY_AGAIN_MS = 150;

type Retype = { table: TableState; change: Change; swap: Swap };

/**
 * Fills the copy of a column, after adding it if necessary. `moved`: another request has ended the retype, or begun another.
 *
 * @throws {Problem} incompatible_schema — a value does not convert, and the copy is dropped; push_busy — there are more
 * rows than one request copies
 */
export async function copyColumn(admin: Database, retype: Retype): Promise<Copied | "moved"> {
  const { table, change, swap } = retype;
  const lock = renderLockTable(table.name, table.stamp);
  if (table.retype === null) await runLocked(admin, renderBegin(swap, { change, lock }));
  const copied = await fillCopy(admin, retype).catch((error: unknown): "moved" => {
    if (isDrift(error)) return "moved";
    // Another request copies the same rows.
    if (readMessageResult(error) === "locked") throw busy();
    throw error;
  });
  if (copied === "failed") throw await giveUp(admin, retype);
  return copied;
}

/** `failed`: a value does not convert. */
async function fillCopy(
  admin: Database,
  { change, swap }: Retype,
): Promise<Copied | "moved" | "failed"> {
  const endsAt = performance.now() + COPYING_MS;
  for (;;) {
    const { rows, failed } = await runCounting(admin, swap, renderBatch(swap));
    if (failed > 0) return "failed";
    if (rows === 0) break;
    if (performance.now() > endsAt) throw busy();
  }
  const [copied] = await run<Copied>(admin, swap, renderHorizon(swap, change));
  if (copied === undefined) return "moved";
  const { failed } = await runCounting(admin, swap, renderSettle(swap));
  return failed > 0 ? "failed" : copied;
}

/** Drops the copy of a column. */
export async function cancelRetype(admin: Database, table: TableState): Promise<void> {
  const lock = renderLockTable(table.name, table.stamp);
  await runLocked(admin, renderCancel(table.ownerAppId, table.name, lock));
}

/** Without a number of rows: the key may not be able to read them. */
async function giveUp(admin: Database, { table, change }: Retype): Promise<Problem> {
  await cancelRetype(admin, table);
  return rejectChange(change, "a row has a value that does not convert; change these values first");
}

async function runCounting(
  admin: Database,
  swap: Swap,
  text: string,
): Promise<{ rows: number; failed: number }> {
  const [row] = await run<{ rows?: string; failed?: string }>(admin, swap, text);
  return { rows: Number(row?.rows ?? 0), failed: Number(row?.failed ?? 0) };
}

async function run<Row>(admin: Database, { appId }: Swap, text: string): Promise<Row[]> {
  return await admin.message<Row>(text, { timeoutMs: MESSAGE_TIMEOUT_MS, queue: appId });
}

/** Runs a message that locks the table briefly. @throws {Problem} push_busy */
async function runLocked(admin: Database, text: string): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    try {
      await admin.message(text, { timeoutMs: MESSAGE_TIMEOUT_MS });
      return;
    } catch (error) {
      // Another request has started the same retype.
      if (error instanceof ViolationError) throw busy();
      if (readMessageResult(error) !== "locked") throw busy();
    }
    await Bun.sleep(TRY_AGAIN_MS * (0.5 + Math.random()));
  }
  throw busy();
}
