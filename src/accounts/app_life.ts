/** What becomes of an app: it is renamed, disabled and enabled again. Each act is in the audit log. @module */
import { type Database, ViolationError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { checkSlug } from "./apps.ts";
import { OPERATOR } from "./audit.ts";
import { refuseUnknownApp } from "./keys.ts";
import { type Act, runAct } from "./run_act.ts";

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
  try {
    await run(deps, slug, {
      text: "select rowhouse.rename_app($1, $2, $3)",
      values: [slug, newSlug, OPERATOR],
    });
  } catch (error) {
    if (!(error instanceof ViolationError)) throw error;
    const message = `Cannot rename app "${slug}": "${newSlug}" already exists`;
    throw new Problem("invalid_request", { message });
  }
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
  const [row] = await run<{ is_done: boolean }>(deps, slug, {
    text: "select rowhouse.set_app_disabled($1, $2, $3) as is_done",
    values: [slug, disabled, OPERATOR],
  });
  return row?.is_done === true;
}

function run<Row>({ admin }: Deps, slug: string, act: Act): Promise<Row[]> {
  return runAct(admin, act, (error) => refuseUnknownApp(error, slug));
}
