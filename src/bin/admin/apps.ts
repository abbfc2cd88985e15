/** `rowhouse admin` commands that create and list apps and set their limits. @module */
import {
  appList,
  createApp,
  DEFAULT_PER_MINUTE,
  PER_MINUTE,
  PER_MINUTE_OF_KEY,
  setLimit,
} from "../../accounts/apps/mod.ts";
import { makeListCommand } from "./list_command.ts";
import { listNextSteps } from "./next_steps.ts";
import { type AdminTask, makeAdminCommands, readFlag, toFlag } from "./task.ts";

const createAppTask: AdminTask = async (deps, args) => {
  const [slug = ""] = args.positionals;
  const app = await createApp(deps, {
    slug,
    origins: args.texts("origin"),
    redirects: args.texts("redirect"),
    cookieDomain: deps.config.COOKIE_DOMAIN,
  });
  return {
    document: app,
    lines: [`Created app ${app.slug} (${app.id})`, ...(await listNextSteps(deps, app.slug))],
  };
};

const setLimitTask: AdminTask = async (deps, args) => {
  const [slug = ""] = args.positionals;
  const perMinute = readFlag(args, "per-minute", PER_MINUTE);
  const perMinuteOfKey = readFlag(args, "per-key", PER_MINUTE_OF_KEY);
  await setLimit(deps, { slug, perMinute, perMinuteOfKey });
  const app = perMinute ?? DEFAULT_PER_MINUTE;
  const key = perMinuteOfKey ?? app;
  return {
    document: { app: slug, perMinute: app, perMinuteOfKey: key },
    lines: [`App ${slug} can send ${app} requests per minute, each of its keys ${key}`],
  };
};

export const adminAppCommands = makeAdminCommands({
  "create-app": {
    example: `rowhouse admin create-app wiki --origin https://wiki.example.org
rowhouse admin create-app shop --redirect https://shop.example.org/callback`,
    about: `A slug has 2 to 40 characters of a-z, 0-9 and -, and begins with a letter. Origins and redirects require COOKIE_DOMAIN.
Prints { id, slug } with --json.`,
    positionals: ["slug"],
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
    task: createAppTask,
  },
  "list-apps": makeListCommand(appList, {
    example: "rowhouse admin list-apps --json",
    none: () => "No apps yet",
  }),
  "set-limit": {
    example: `rowhouse admin set-limit wiki --per-minute 6000
rowhouse admin set-limit wiki --per-minute 6000 --per-key 600`,
    about: `Limits apply to all serving processes together. An omitted limit is reset to its default: ${DEFAULT_PER_MINUTE} for the app,
and the app's limit for each key. Prints { app, perMinute, perMinuteOfKey } with --json.`,
    positionals: ["slug"],
    flags: {
      "per-minute": toFlag(PER_MINUTE),
      "per-key": toFlag(PER_MINUTE_OF_KEY),
    },
    task: setLimitTask,
  },
});
