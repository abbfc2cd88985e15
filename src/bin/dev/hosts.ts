/** The app of `dev` and the hosts of one machine: the gateway's, the identity pages', the app's. @module */
import { basename, resolve } from "node:path";
import { APP_SLUG } from "../../accounts/mod.ts";
import type { Config } from "../../config/mod.ts";
import { quote } from "../../std/quote.ts";
import { SLUG_WORDS } from "../../std/stored_text.ts";
import { DEV_COOKIE_DOMAIN } from "../admin/task.ts";
import { type Setting, UsageError } from "../cli/command.ts";
import { toSlug } from "../cli/package.ts";
import { openSecrets } from "./secrets.ts";

/** The checkout that this file is part of, or the installed package. */
export const PACKAGE = resolve(import.meta.dirname, "../../..");
/** The example's, in its own repository. */
export const DEMO_APP = "todo";
/** Where Vite serves an app's pages while they are worked on. */
const FRONT_END_PORT = 5173;
/** Names of hosts that are taken. */
const RESERVED = ["api", "id"];

/** What `--app` says, otherwise the name of the previous run, whose tables exist, otherwise the folder's. */
export function findAppName({ args, folder }: Pick<Setting, "args" | "folder">): string {
  const typed = args.text("app");
  if (typed !== undefined && (!APP_SLUG.test(typed) || RESERVED.includes(typed)))
    throw new UsageError(
      `Cannot name an app ${quote(typed)}: must be ${SLUG_WORDS}, and not ${RESERVED.join(" or ")}`,
    );
  const ofFolder = resolve(folder) === PACKAGE ? DEMO_APP : toSlug(basename(folder));
  return typed ?? openSecrets(folder).app ?? ofFolder;
}

/** The settings with the hosts of this port. */
export function withHosts(config: Config, port: number): Config {
  const served = { ...config, PORT: port };
  return {
    ...served,
    PUBLIC_URL: config.PUBLIC_URL ?? toOrigin("api", served),
    IDENTITY_URL: config.IDENTITY_URL ?? toOrigin("id", served),
  };
}

export function toHost(name: string, { COOKIE_DOMAIN, PORT }: Config): string {
  return `${name}.${COOKIE_DOMAIN ?? DEV_COOKIE_DOMAIN}:${PORT}`;
}

export function toOrigin(name: string, config: Config): string {
  const isLocal = (config.COOKIE_DOMAIN ?? DEV_COOKIE_DOMAIN).endsWith("localhost");
  return `${isLocal ? "http" : "https"}://${toHost(name, config)}`;
}

/** The origin of an app's pages while they are worked on. */
export function toFrontEnd(name: string, config: Config): string {
  return toOrigin(name, { ...config, PORT: FRONT_END_PORT });
}
