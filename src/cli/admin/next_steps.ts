/** The next steps until an app can be used: its origins, the first administrator, its first key. @module */
import { APP_SCOPES } from "../../principal.ts";
import { readSetup } from "../../records/apps/mod.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import type { AdminDeps } from "./task.ts";

/** A line for each remaining step, all optional. Defaults to the newest app without a key. */
export async function listNextSteps(deps: AdminDeps, slug?: string): Promise<string[]> {
  const { app, hasApps, hasAdministrator } = await readSetup(deps, slug);
  const { COOKIE_DOMAIN: domain = "example.org", IDENTITY_URL } = deps.config;
  // Pages have the scheme and the port of the sign-in, as those of dev.
  const { protocol, port } = new URL(IDENTITY_URL ?? "https://id.example.org");
  const toOrigin = (slug: string) => `${protocol}//${slug}.${domain}${port && `:${port}`}`;
  return [
    ...(hasApps ? [] : ["Next, create an app: rowhouse admin create-app <slug>"]),
    ...(app === undefined || app.hasTargets
      ? []
      : [
          `Next, if people sign in to ${app.slug}, set the origin of its pages: rowhouse admin set-origins ${quoteForShell(app.slug)} --add-origin ${quoteForShell(toOrigin(app.slug))}`,
        ]),
    ...(hasAdministrator
      ? []
      : [
          "Next, create the first administrator: rowhouse admin create-user <email> --role super_admin",
        ]),
    ...(app === undefined || app.hasKeys
      ? []
      : [
          `Next, issue a key that can also push the schema: rowhouse admin issue-key ${quoteForShell(app.slug)} --scope ${quoteForShell(APP_SCOPES.join(","))}`,
        ]),
  ];
}
