/** What becomes of an app: it is renamed, disabled and enabled again. Each act is in the audit log. @module */
import { call, type Database, ViolationError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { checkSlug } from "./apps.ts";
import { OPERATOR } from "./audit.ts";
import { refuseUnknownApp } from "./keys.ts";

type Deps = { admin: Database };

/**
 * Gives an app another slug. Its id, rows, keys and grants stay.
 *
 * @throws {Problem} unknown_app; invalid_request — the new slug is malformed, or taken
 */
export async function renameApp(
  deps: Deps,
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
  deps: Deps,
  slug: string,
  disabled: boolean,
): Promise<boolean> {
  return await call(
    deps.admin,
    "set_app_disabled",
    { app_slug: slug, disabled, actor: OPERATOR },
    { reject: (error) => refuseUnknownApp(error, slug) },
  );
}
