/** Renames apps, and turns their settings on and off. The audit log records each action. @module */
import type { AppSwitchName } from "../../app_switch.ts";
import type { Database } from "../../db/mod.ts";
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
