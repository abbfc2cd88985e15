/** How far the setting up of an app has come: what an operator is told to do next. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";

export type Setup = {
  slug: string;
  hasTargets: boolean;
  hasKeys: boolean;
};
export type SetupState = {
  /** The app that was asked about; without one, the newest that has no key yet. */
  app: Setup | undefined;
  hasApps: boolean;
  /** Whether anybody may administer apps in a browser. */
  hasAdministrator: boolean;
};

export async function readSetup(deps: { admin: Database }, slug?: string): Promise<SetupState> {
  const [row] = await deps.admin.query<{ state: string }>(
    `select json_build_object(
      'app', (select json_build_object('slug', slug, 'hasTargets', has_targets, 'hasKeys', has_keys) from (
          select slug, created_at, exists (select from rowhouse.targets where app_id = apps.id) as has_targets,
            exists (select from rowhouse.api_keys where app_id = apps.id and revoked_at is null) as has_keys
          from rowhouse.apps where slug = $1 or $1 is null) as listed
        where slug = $1 or not has_keys order by created_at desc limit 1),
      'hasApps', exists (select from rowhouse.apps),
      'hasAdministrator', exists (
        select from rowhouse.users where console_role = 'super_admin' and disabled_at is null))::text as state`,
    [slug ?? null],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  const { app, ...rest } = JSON.parse(row?.state ?? "{}") as SetupState & { app: Setup | null };
  return { app: app ?? undefined, ...rest };
}

/** Whether anybody may use the Console; the serving login may ask. */
export async function hasAdministrator(deps: { db: Database }): Promise<boolean> {
  const [row] = await deps.db.query<{ is_there: boolean }>(
    "select exists (select from rowhouse.users where console_role is not null and disabled_at is null) as is_there",
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return row?.is_there === true;
}
