/** What administrators do with apps from a browser, by the same rules as the commands. @module */
import { ViolationError } from "../db/mod.ts";
import type { Detail } from "../problem.ts";
import { type Described, findHindrances, refuseDeletion } from "./app_deletion.ts";
import { checkSlug, refuseTaken } from "./apps.ts";
import { type ConsoleDeps, callConsole, readConsole } from "./console_call.ts";
import type { ConsoleVisitor } from "./console_reads.ts";
import { findFaults, refuseFor } from "./faults.ts";
import { refuseUnknownApp } from "./keys.ts";
import { checkLimits, type SetLimitOptions } from "./limits.ts";
import type { ShownCall, ShownCookies } from "./shown_call.ts";
import { readTargets, type Target, type TypedTargets } from "./target.ts";

type AppOptions = TypedTargets & { slug: string; cookieDomain: string | undefined };

/** A new app. @throws {Problem} invalid_request — the slug or a URL is malformed, or the slug is taken */
export async function createAppByConsole(
  deps: ConsoleDeps & { makeId: () => string },
  cookies: ShownCookies,
  options: AppOptions,
): Promise<void> {
  const targets = readAll(options);
  try {
    await callConsole(deps, cookies, {
      name: "console_create_app",
      passed: "$5, $6, $7::text::jsonb",
      values: [deps.makeId(), options.slug, JSON.stringify(targets)],
      retry: "unsafe",
    });
  } catch (error) {
    throw error instanceof ViolationError ? refuseTaken(options.slug) : error;
  }
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
  await runOnApp(deps, cookies, {
    slug: options.slug,
    name: "console_set_targets",
    passed: "$5, $6::text::jsonb",
    values: [options.slug, JSON.stringify(targets)],
  });
}

/** How many requests an app and each of its keys may send. @throws {Problem} unknown_app; invalid_request — no such limit */
export async function setLimitByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, perMinute, perMinuteOfKey }: SetLimitOptions,
): Promise<void> {
  checkLimits([perMinute, perMinuteOfKey]);
  await runOnApp(deps, cookies, {
    slug,
    name: "console_set_limit",
    values: [slug, perMinute ?? null, perMinuteOfKey ?? null],
  });
}

/** @throws {Problem} unknown_app */
export async function setAppDisabledByConsole(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, disabled }: { slug: string; disabled: boolean },
): Promise<void> {
  await runOnApp(deps, cookies, {
    slug,
    name: "console_set_app_disabled",
    values: [slug, disabled],
  });
}

async function runOnApp<Row>(
  deps: ConsoleDeps,
  cookies: ShownCookies,
  { slug, ...call }: Omit<ShownCall, "retry"> & { slug: string },
): Promise<Row[]> {
  try {
    return await callConsole<Row>(deps, cookies, { ...call, retry: "unsafe" });
  } catch (error) {
    throw refuseUnknownApp(error, slug);
  }
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
  try {
    const { used, referredTo, ...rest } = await readConsole<Described & { me: ConsoleVisitor }>(
      deps,
      cookies,
      { name: "console_describe_app", values: [slug] },
    );
    return { ...rest, hindrances: findHindrances({ used, referredTo }) };
  } catch (error) {
    throw refuseUnknownApp(error, slug);
  }
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
    const step = await takeStep(deps, cookies, slug);
    if (step.is_done) return true;
    if (step.is_waiting) await Bun.sleep(ROWS_WAIT_MS);
  }
  return false;
}

/** While the data service deletes rows. */
export const ROWS_WAIT_MS = 200;

type Step = { is_done: boolean; is_waiting: boolean };

async function takeStep(deps: ConsoleDeps, cookies: ShownCookies, slug: string): Promise<Step> {
  try {
    const [step] = await callConsole<Step>(deps, cookies, {
      name: "console_delete_app_step",
      values: [slug],
      retry: "unsafe",
    });
    if (step === undefined) throw new Error("A step of an app's deletion gave no row");
    return step;
  } catch (error) {
    throw refuseDeletion(error, slug);
  }
}
