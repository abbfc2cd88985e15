/** What administrators do with apps from a browser, by the same rules as the commands. @module */
import { ViolationError } from "../db/mod.ts";
import type { Detail } from "../problem.ts";
import { type Described, findHindrances, refuseDeletion } from "./app_deletion.ts";
import { checkSlug, refuseTaken } from "./apps.ts";
import { type ConsoleDeps, callConsole } from "./console_call.ts";
import type { ConsoleVisitor } from "./console_reads.ts";
import { findFaults, refuseFor } from "./faults.ts";
import { refuseUnknownApp } from "./keys.ts";
import { checkLimits, type SetLimitOptions } from "./limits.ts";
import type { Reject, ShownCookies } from "./shown_call.ts";
import { readTargets, type Target, type TypedTargets } from "./target.ts";

type AppOptions = TypedTargets & { slug: string; cookieDomain: string | undefined };

/** A new app. @throws {Problem} invalid_request — the slug or a URL is malformed, or the slug is taken */
export async function createAppByConsole(
  deps: ConsoleDeps & { makeId: () => string },
  cookies: ShownCookies,
  options: AppOptions,
): Promise<void> {
  const targets = readAll(options);
  await callConsole(
    deps,
    cookies,
    "console_create_app",
    { new_id: deps.makeId(), app_slug: options.slug, added: targets },
    (error) => (error instanceof ViolationError ? refuseTaken(options.slug) : error),
  );
}

/** The slug and the targets, with the faults of both at once. */
function readAll(options: AppOptions): Target[] {
  const read = () => readTargets(options, options.cookieDomain);
  const faults = [() => checkSlug(options.slug), read].flatMap((check) =>
    findFaults(check, "/slug"),
  );
  if (faults.length > 0) throw refuseFor(faults);
  return read();
}

/** An app's origins and redirects from now on. @throws {Problem} unknown_app; invalid_request — a URL is malformed */
export async function setTargetsByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  options: AppOptions,
): Promise<void> {
  const targets = readTargets(options, options.cookieDomain);
  const values = { app_slug: options.slug, added: targets };
  await callConsole(deps, cookies, "console_set_targets", values, rejectFor(options.slug));
}

/** How many requests an app and each of its keys may send. @throws {Problem} unknown_app; invalid_request — no such limit */
export async function setLimitByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, perMinute, perMinuteOfKey }: SetLimitOptions,
): Promise<void> {
  checkLimits([perMinute, perMinuteOfKey]);
  const values = { app_slug: slug, per_minute: perMinute, key_per_minute: perMinuteOfKey };
  await callConsole(deps, cookies, "console_set_limit", values, rejectFor(slug));
}

/** @throws {Problem} unknown_app */
export async function setAppDisabledByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, disabled }: { slug: string; disabled: boolean },
): Promise<void> {
  const values = { app_slug: slug, disabled };
  await callConsole(deps, cookies, "console_set_app_disabled", values, rejectFor(slug));
}

function rejectFor(slug: string): Reject {
  return (error) => refuseUnknownApp(error, slug);
}

/** What goes with an app, and what stands in the way. */
export type AppEnd = Omit<Described, "used" | "referredTo"> & {
  me: ConsoleVisitor;
  hindrances: Detail[];
};

/** @throws {Problem} unknown_app */
export async function describeAppEnd(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  slug: string,
): Promise<AppEnd> {
  const values = { app_slug: slug };
  const described = await callConsole(
    deps,
    cookies,
    "console_describe_app",
    values,
    rejectFor(slug),
  );
  const { used, referredTo, ...rest } = described as Described & { me: ConsoleVisitor };
  return { ...rest, hindrances: findHindrances({ used, referredTo }) };
}

/**
 * Deletes an app in steps until it is gone or `isLate` says so; whether it is gone. The data service deletes the rows. Asking again goes
 * on from there.
 *
 * @throws {Problem} unknown_app; invalid_request — another app uses a table that it owns; push_busy
 */
export async function deleteAppByConsole(
  deps: ConsoleDeps & { isLate: () => boolean },
  cookies: ShownCookies,
  slug: string,
): Promise<boolean> {
  while (!deps.isLate()) {
    const [step] = await callConsole(
      deps,
      cookies,
      "console_delete_app_step",
      { app_slug: slug },
      (error) => refuseDeletion(error, slug),
    );
    if (step === undefined) throw new Error("A step of an app's deletion gave no row");
    if (step.is_done) return true;
    if (step.is_waiting) await Bun.sleep(ROWS_WAIT_MS);
  }
  return false;
}

/** While the data service deletes rows. */
export const ROWS_WAIT_MS = 200;
