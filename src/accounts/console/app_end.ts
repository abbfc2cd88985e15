/** Deletes an app in the Console, whose login never touches rows: the data service deletes the rows. @module */
import { type ConsoleActor, callConsole } from "../actions/action.ts";

/**
 * Deletes an app in steps until it is deleted or `isOverdue` is true. Returns whether it is deleted. A repeated call continues.
 *
 * @throws {Problem} unknown_app; invalid_request — another app uses a table that it owns; push_busy
 */
export async function deleteAppByConsole(
  deps: ConsoleActor & { isOverdue: () => boolean },
  slug: string,
): Promise<boolean> {
  while (!deps.isOverdue()) {
    const values = { app_slug: slug };
    const [step] = await callConsole(deps, "console_delete_app_step", values);
    if (step === undefined) throw new Error("A step of an app's deletion returned no row");
    if (step.is_done) return true;
    if (step.is_waiting) await Bun.sleep(ROWS_WAIT_MS);
  }
  return false;
}

/** The pause between checks while the data service deletes rows. */
export const ROWS_WAIT_MS = 200;
