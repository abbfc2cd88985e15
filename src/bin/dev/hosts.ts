/** The app name of `dev`, and the local hosts of the gateway, the identity pages and the app. @module */
import { basename, resolve } from "node:path";
import { APP_SLUG } from "../../accounts/apps/mod.ts";
import type { Config } from "../../config/mod.ts";
import { quote } from "../../std/quote.ts";
import { SLUG_TEXTS } from "../../std/stored_text.ts";
import { DEV_COOKIE_DOMAIN } from "../admin/task.ts";
import { type Setting, UsageError } from "../cli/command.ts";
import { toSlug } from "../cli/package.ts";
import { openSecrets } from "./secrets.ts";

/** The checkout that this file is part of, or the installed package. */
export const PACKAGE = resolve(import.meta.dirname, "../../..");
/** The app of the example in this repository. */
export const DEMO_APP = "todo";
/** The port of Vite's development server. */
const FRONT_END_PORT = 5173;
/** Host names that dev itself uses. */
const RESERVED = ["api", "id"];

/** The name from `--app`, else the name of the previous run, whose tables exist, else the name of the folder. */
export function findAppName({ args, folder }: Pick<Setting, "args" | "folder">): string {
  const typed = args.text("app");
  if (typed !== undefined && (!APP_SLUG.test(typed) || RESERVED.includes(typed)))
    throw new UsageError(
      `Cannot name an app ${quote(typed)}: must be ${SLUG_TEXTS}, and not ${RESERVED.join(" or ")}`,
    );
  const ofFolder = resolve(folder) === PACKAGE ? DEMO_APP : toSlug(basename(folder));
  return typed ?? openSecrets(folder).app ?? ofFolder;
}

/** The settings with the hosts of this port. */
export function withHosts(config: Config, port: number): Config {
  return {
    ...config,
    PORT: port,
    PUBLIC_URL: toOrigin("api", port),
    IDENTITY_URL: toOrigin("id", port),
  };
}

export function toHost(name: string, port: number): string {
  return `${name}.${DEV_COOKIE_DOMAIN}:${port}`;
}

export function toOrigin(name: string, port: number): string {
  return `http://${toHost(name, port)}`;
}

/** The origin of an app's pages in development. */
export function toFrontEnd(name: string): string {
  return toOrigin(name, FRONT_END_PORT);
}
