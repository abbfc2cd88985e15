/** What to do after a command, until an app can be used: its origins, the first administrator, its first key. @module */
import { readSetup } from "../../accounts/apps/mod.ts";
import { APP_SCOPES } from "../../principal.ts";
import type { AdminDeps } from "./task.ts";

/** A line for each step that is left; none of it has to be done. Without an app, that of the newest one without a key. */
export async function listNextSteps(deps: AdminDeps, slug?: string): Promise<string[]> {
  const { app, hasApps, hasAdministrator } = await readSetup(deps, slug);
  const domain = deps.config.COOKIE_DOMAIN ?? "example.org";
  return [
    ...(hasApps ? [] : ["Next, create an app: rowhouse admin create-app <slug>"]),
    ...(app === undefined || app.hasTargets
      ? []
      : [
          `Next, if people sign in to it, say where its pages live: rowhouse admin set-origins ${app.slug} --add-origin https://${app.slug}.${domain}`,
        ]),
    ...(hasAdministrator
      ? []
      : [
          "Next, create the first administrator: rowhouse admin create-user <email> --role super_admin",
        ]),
    ...(app === undefined || app.hasKeys
      ? []
      : [
          `Next, issue a key that may also push its schema: rowhouse admin issue-key ${app.slug} --scope ${APP_SCOPES.join(",")}`,
        ]),
  ];
}
