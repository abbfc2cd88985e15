/** Renames apps, and turns their settings on and off. The audit log records each action. @module */
import type { AppSwitchName } from "../../app_switch.ts";
import { call, type Database } from "../../db/mod.ts";
import { type Actor, callAsOperator, runAction } from "../actions/action.ts";
import { checkSlug } from "./apps.ts";

/**
 * Renames an app. Its id, rows, keys and grants do not change.
 *
 * @throws {Problem} unknown_app; invalid_request — the new slug is malformed or already in use
 */
export async function renameApp(
  deps: { admin: Database },
  { slug, newSlug }: { slug: string; newSlug: string },
): Promise<void> {
  checkSlug(newSlug);
  await callAsOperator(deps, "rename_app", { old_slug: slug, new_slug: newSlug });
}

/**
 * Turns a setting of an app on or off; returns whether this changed anything.
 *
 * @throws {Problem} unknown_app
 */
export async function setAppSwitch(
  actor: Actor,
  slug: string,
  [setting, isOn]: [setting: AppSwitchName, isOn: boolean],
): Promise<boolean> {
  return await runAction(actor, "set_app_switch", { app_slug: slug, setting, is_on: isOn });
}

/** A transaction that can still write rows. */
export type Writer = { pid: number; login: string; began_at: string | null };

/** Longer than any request or push lasts, so that only a build or another program's transaction can exceed it. */
const ENDS_MS = 150_000;
const POLL_MS = 100;

/**
 * Waits until every transaction has ended that can have begun before a setting stopped the writes of an app. Returns those
 * that have not ended within the limit.
 */
export async function waitForWriters(
  { admin }: { admin: Database },
  {
    limitMs = ENDS_MS,
    onWait,
  }: { limitMs?: number; onWait?: (left: readonly Writer[]) => void } = {},
): Promise<Writer[]> {
  const endsAt = performance.now() + limitMs;
  let left = await call(admin, "list_writers", {});
  for (let isFirst = true; left.length > 0 && performance.now() < endsAt; isFirst = false) {
    if (isFirst) onWait?.(left);
    await Bun.sleep(POLL_MS);
    const running = new Set((await call(admin, "list_writers", {})).map(({ id }) => id));
    left = left.filter(({ id }) => running.has(id));
  }
  return left;
}
