/** How far the setting up of an app has come: what an operator is told to do next. @module */
import { call, type Database } from "../../db/mod.ts";

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
  const state = await call(deps.admin, "read_setup", { app_slug: slug });
  const { app, ...rest } = state as SetupState & { app: Setup | null };
  return { app: app ?? undefined, ...rest };
}

/** Whether anybody may use the Console; the serving login may ask. */
export async function hasAdministrator(deps: { db: Database }): Promise<boolean> {
  return await call(deps.db, "has_administrator", {});
}
