/** `rowhouse admin` commands that create and list apps and set their limits. @module */
import { count, text } from "../../accounts/actions/mod.ts";
import {
  appList,
  createApp,
  DEFAULT_PER_MINUTE,
  PER_MINUTE,
  PER_MINUTE_OF_KEY,
  setLimit,
} from "../../accounts/apps/mod.ts";
import { command, typed } from "./command.ts";
import { makeListCommand } from "./list_command.ts";
import { listNextSteps } from "./next_steps.ts";
import { makeAdminCommands } from "./task.ts";

export const adminAppCommands = makeAdminCommands({
  "create-app": command({
    example: `rowhouse admin create-app wiki --origin https://wiki.example.org
rowhouse admin create-app shop --redirect https://shop.example.org/callback`,
    about: `A slug has 2 to 40 characters of a-z, 0-9 and -, and begins with a letter. Origins and redirects require COOKIE_DOMAIN.`,
    args: { slug: typed },
    flags: {
      origin: {
        value: "url",
        many: true,
        about: "an origin: sign-in can redirect to any path of it",
      },
      redirect: {
        value: "url",
        many: true,
        about: "a URL: sign-in can redirect to exactly this URL",
      },
    },
    json: { id: text(), slug: text() },
    run: async (deps, { slug, origin: origins, redirect: redirects }) => {
      const cookieDomain = deps.config.COOKIE_DOMAIN;
      const app = await createApp(deps, { slug, origins, redirects, cookieDomain });
      return {
        document: app,
        lines: [`Created app ${app.slug} (${app.id})`, ...(await listNextSteps(deps, app.slug))],
      };
    },
  }),
  "list-apps": makeListCommand(appList, {
    example: "rowhouse admin list-apps --json",
    none: () => "No apps yet",
  }),
  "set-limit": command({
    example: `rowhouse admin set-limit wiki --per-minute 6000
rowhouse admin set-limit wiki --per-minute 6000 --per-key 600`,
    about: `Limits apply to all serving processes together. An omitted limit is reset to its default: ${DEFAULT_PER_MINUTE} for the app,
and the app's limit for each key.`,
    args: { slug: typed },
    flags: { "per-minute": PER_MINUTE, "per-key": PER_MINUTE_OF_KEY },
    json: { app: text(), perMinute: count(), perMinuteOfKey: count() },
    run: async (deps, { slug, "per-minute": perMinute, "per-key": perMinuteOfKey }) => {
      await setLimit(deps, { slug, perMinute, perMinuteOfKey });
      const app = perMinute ?? DEFAULT_PER_MINUTE;
      const key = perMinuteOfKey ?? app;
      return {
        document: { app: slug, perMinute: app, perMinuteOfKey: key },
        lines: [`App ${slug} can send ${app} requests per minute, each of its keys ${key}`],
      };
    },
  }),
});
