/** Apps: their slugs, ids and targets. @module */
import { type Database, SERVICE_QUEUE, ViolationError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { SLUG_PATTERN, SLUG_WORDS } from "../std/stored_text.ts";
import { OPERATOR } from "./audit.ts";
import { readTarget, readTargets, type Target } from "./target.ts";
import { toUtcText } from "./utc_text.ts";

export const APP_SLUG = new RegExp(SLUG_PATTERN);

export type App = {
  id: string;
  slug: string;
  createdAt: string;
  disabledAt: string | null;
  targets: string[];
};
export type CreateAppOptions = {
  slug: string;
  /** URLs as typed: `--origin` and `--redirect`. */
  origins: readonly string[];
  redirects: readonly string[];
  cookieDomain: string | undefined;
};

/**
 * A new app with its targets, in one statement.
 *
 * @throws {Problem} invalid_request — the slug or a target is malformed, or the slug is taken
 */
export async function createApp(
  deps: { admin: Database; makeId: () => string },
  options: CreateAppOptions,
): Promise<{ id: string; slug: string }> {
  checkSlug(options.slug);
  const targets = readTargets(options, options.cookieDomain);
  const id = deps.makeId();
  try {
    await insertApp(deps.admin, { id, slug: options.slug }, targets);
  } catch (error) {
    throw error instanceof ViolationError ? refuseTaken(options.slug) : error;
  }
  return { id, slug: options.slug };
}

export function refuseTaken(slug: string): Problem {
  return refusal(`Cannot create app "${slug}": it already exists`);
}

/** @throws {Problem} invalid_request */
export function checkSlug(slug: string): void {
  if (!APP_SLUG.test(slug))
    throw refusal(`Cannot name an app ${quote(slug)}: must be ${SLUG_WORDS}`);
}

async function insertApp(
  admin: Database,
  app: { id: string; slug: string },
  targets: readonly Target[],
): Promise<void> {
  await admin.query(
    "select rowhouse.create_app($1, $2, $3::text::jsonb, $4)",
    [app.id, app.slug, JSON.stringify(targets), OPERATOR],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
}

/**
 * Registers another origin of an app; one that it already has stays as it is.
 *
 * @throws {Problem} invalid_request
 */
export async function addOrigin(
  deps: { admin: Database },
  options: { slug: string; origin: string; cookieDomain: string | undefined },
): Promise<void> {
  const target = readTarget("origin", options.origin, options.cookieDomain);
  await deps.admin.query(
    `with made as (
      insert into rowhouse.targets (app_id, kind, url, origin)
      select id, $2, $3, $4 from rowhouse.apps where slug = $1
      on conflict do nothing
      returning url
    )
    insert into rowhouse.audit (actor, action, app, details)
    select $5, 'add_origin', $1, jsonb_build_object('origin', url) from made`,
    [options.slug, target.kind, target.url, target.origin, OPERATOR],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
}

/** Every app with its targets, by slug. */
export async function listApps(deps: { admin: Database }): Promise<App[]> {
  const rows = await deps.admin.query<{
    id: string;
    slug: string;
    created_at: string;
    disabled_at: string | null;
    targets: string;
  }>(
    `select id, slug, ${toUtcText("created_at")} as created_at, ${toUtcText("disabled_at")} as disabled_at,
      coalesce((select json_agg(url order by url) from rowhouse.targets where app_id = id), '[]')::text as targets
    from rowhouse.apps order by slug`,
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return rows.map((row) => ({
    id: row.id,
    slug: row.slug,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
    targets: JSON.parse(row.targets) as string[],
  }));
}

/** The id of the app with this slug. */
export async function findAppId(
  deps: { admin: Database },
  slug: string,
): Promise<string | undefined> {
  const [row] = await deps.admin.query<{ id: string }>(
    "select id from rowhouse.apps where slug = $1",
    [slug],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return row?.id;
}

function refusal(message: string): Problem {
  return new Problem("invalid_request", { message });
}
