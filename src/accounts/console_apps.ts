/** What administrators do with apps from a browser, by the same rules as the commands. @module */
import { ViolationError } from "../db/mod.ts";
import { type Detail, Problem } from "../problem.ts";
import { type Described, findHindrances, ROWS_PER_STEP, refuseDeletion } from "./app_deletion.ts";
import { checkSlug, refuseTaken } from "./apps.ts";
import { type ConsoleCall, type ConsoleDeps, callConsole } from "./console_call.ts";
import type { ConsoleVisitor } from "./console_reads.ts";
import { refuseUnknownApp } from "./keys.ts";
import type { PageCookies } from "./sessions.ts";
import { readTargets, type Target, type TypedTargets } from "./target.ts";

type AppOptions = TypedTargets & { slug: string; cookieDomain: string | undefined };

/** A new app. @throws {Problem} invalid_request — the slug or a URL is malformed, or the slug is taken */
export async function createAppByConsole(
  deps: ConsoleDeps & { makeId: () => string },
  cookies: PageCookies,
  options: AppOptions,
): Promise<void> {
  const targets = readAll(options);
  try {
    await callConsole(deps, cookies, {
      text: "select rowhouse.console_create_app($1, $2, $3, $4, $5, $6::text::jsonb)",
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
  const faults = [() => checkSlug(options.slug), read].flatMap(findFaults);
  if (faults.length > 0) throw new Problem("invalid_request", { details: faults });
  return read();
}

function findFaults(check: () => unknown): Detail[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.details ?? [{ path: "/slug", message: error.message }];
  }
}

/** An app's origins and redirects from now on. @throws {Problem} unknown_app; invalid_request — a URL is malformed */
export async function setTargetsByConsole(
  deps: ConsoleDeps,
  cookies: PageCookies,
  options: AppOptions,
): Promise<void> {
  const targets = readTargets(options, options.cookieDomain);
  await runOnApp(deps, cookies, {
    slug: options.slug,
    text: "select rowhouse.console_set_targets($1, $2, $3, $4, $5::text::jsonb)",
    values: [options.slug, JSON.stringify(targets)],
  });
}

/** @throws {Problem} unknown_app */
export async function setAppDisabledByConsole(
  deps: ConsoleDeps,
  cookies: PageCookies,
  { slug, disabled }: { slug: string; disabled: boolean },
): Promise<void> {
  await runOnApp(deps, cookies, {
    slug,
    text: "select rowhouse.console_set_app_disabled($1, $2, $3, $4, $5)",
    values: [slug, disabled],
  });
}

async function runOnApp<Row>(
  deps: ConsoleDeps,
  cookies: PageCookies,
  { slug, ...call }: Omit<ConsoleCall, "retry"> & { slug: string },
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
  cookies: PageCookies,
  slug: string,
): Promise<AppEnd> {
  const [row] = await runOnApp<{ described: string }>(deps, cookies, {
    slug,
    text: "select rowhouse.console_describe_app($1, $2, $3, $4)::text as described",
    values: [slug],
  });
  const { used, referredTo, ...rest } = JSON.parse(row?.described ?? "{}") as Described & {
    me: ConsoleVisitor;
  };
  return { ...rest, hindrances: findHindrances({ used, referredTo }) };
}

/**
 * Deletes an app in steps, as the command does, until it is gone or `isLate` says so; whether it is gone. Asking again goes
 * on from there.
 *
 * @throws {Problem} unknown_app; invalid_request — another app uses a table that it owns; push_busy
 */
export async function deleteAppByConsole(
  deps: ConsoleDeps & { isLate: () => boolean },
  cookies: PageCookies,
  slug: string,
): Promise<boolean> {
  for (let rows = 0; !deps.isLate(); ) {
    const step = await takeStep(deps, cookies, { slug, rows });
    rows += step.deleted;
    if (step.is_done) return true;
  }
  return false;
}

type Step = { is_done: boolean; deleted: number };

async function takeStep(
  deps: ConsoleDeps,
  cookies: PageCookies,
  { slug, rows }: { slug: string; rows: number },
): Promise<Step> {
  try {
    const [step] = await callConsole<Step>(deps, cookies, {
      text: "select is_done, deleted::float8 as deleted from rowhouse.console_delete_app_step($1, $2, $3, $4, $5, $6)",
      values: [slug, ROWS_PER_STEP, rows],
      retry: "unsafe",
    });
    if (step === undefined) throw new Error("A step of an app's deletion gave no row");
    return step;
  } catch (error) {
    throw refuseDeletion(error, slug);
  }
}
