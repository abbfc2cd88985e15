/** Renames, disables and enables apps. The audit log records each action. @module */
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
 * Disables or enables an app; returns whether the state changed. The rows, keys and grants of a disabled app stay, but its keys
 * do not work, and people cannot see it.
 *
 * @throws {Problem} unknown_app
 */
export async function setAppDisabled(
  actor: Actor,
  slug: string,
  disabled: boolean,
): Promise<boolean> {
  return await runAction(actor, "set_app_disabled", { app_slug: slug, disabled });
}

/**
 * Starts or ends live updates of an app; returns whether the setting changed.
 *
 * @throws {Problem} unknown_app
 */
export async function setAppLive(actor: Actor, slug: string, live: boolean): Promise<boolean> {
  return await runAction(actor, "set_app_live", { app_slug: slug, live });
}

/**
 * Allows people with a role on an app to list each other, or forbids it; returns whether the setting changed.
 *
 * @throws {Problem} unknown_app
 */
export async function setPeopleList(actor: Actor, slug: string, listed: boolean): Promise<boolean> {
  return await runAction(actor, "set_people_list", { app_slug: slug, listed });
}
