/** What becomes of an app: it is renamed, disabled and enabled again. Each act is in the audit log. @module */
import { call, type Database, ViolationError } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { type Actor, runAction } from "../actions/action.ts";
import { OPERATOR } from "../actions/audit.ts";
import { checkSlug } from "./apps.ts";
import { refuseUnknownApp } from "./keys.ts";

/**
 * Gives an app another slug. Its id, rows, keys and grants stay.
 *
 * @throws {Problem} unknown_app; invalid_request — the new slug is malformed, or taken
 */
export async function renameApp(
  deps: { admin: Database },
  { slug, newSlug }: { slug: string; newSlug: string },
): Promise<void> {
  checkSlug(newSlug);
  const reject = (error: unknown) => {
    if (!(error instanceof ViolationError)) return refuseUnknownApp(error, slug);
    const message = `Cannot rename app "${slug}": "${newSlug}" already exists`;
    return new Problem("invalid_request", { message });
  };
  const values = { old_slug: slug, new_slug: newSlug, actor: OPERATOR };
  await call(deps.admin, "rename_app", values, { reject });
}

/**
 * Disables an app or enables it again; returns whether that changed anything. The keys of a disabled app are refused, and
 * to people it does not exist; its rows, keys and grants stay.
 *
 * @throws {Problem} unknown_app
 */
export async function setAppDisabled(
  actor: Actor,
  slug: string,
  disabled: boolean,
): Promise<boolean> {
  const values = { app_slug: slug, disabled };
  return await runAction(actor, "set_app_disabled", values, (error) =>
    refuseUnknownApp(error, slug),
  );
}
