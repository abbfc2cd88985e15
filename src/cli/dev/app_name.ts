/**
 * The app name of `dev`, and the local hosts of the gateway, the identity pages and the app.
 *
 * @module
 */
import { basename, resolve } from "node:path";
import type { Config } from "../../settings/mod.ts";
import { quote } from "../../std/quote.ts";
import { DEV_COOKIE_DOMAIN } from "../admin/task.ts";
import { type Setting, UsageError } from "../command.ts";
import { toSlug } from "../package.ts";
import { APP_TEXTS, isAppName, readProject } from "../project_file.ts";
import { openSecrets } from "./secrets.ts";

/** The checkout that this file is part of, or the installed package. */
export const PACKAGE = resolve(import.meta.dirname, "../../..");
/** The app of the example in this repository. */
export const DEMO_APP = "todo";
/** The port of Vite's development server. */
const FRONT_END_PORT = 5173;
export type AppName = {
  app: string;
  /** Another app that the previous run served, and that no flag replaces now. */
  former: string | undefined;
  /** The app that a start without a flag serves, if the project does not name one. */
  remembered: string | undefined;
};

/** The name from `--app`, else from the project's file, else of the previous run, whose tables exist, else of the folder. */
export function findAppName({ args, folder }: Pick<Setting, "args" | "folder">): AppName {
  const typed = args.text("app");
  if (typed !== undefined && !isAppName(typed))
    throw new UsageError(`Cannot name an app ${quote(typed)}: must be ${APP_TEXTS}`);
  const { app: named } = readProject(folder);
  const { app: stored } = openSecrets(folder);
  if (typed !== undefined)
    return { app: typed, former: undefined, remembered: named === undefined ? typed : stored };
  const app = named ?? stored ?? nameAfterFolder(folder);
  return { app, former: stored === app ? undefined : stored, remembered: app };
}

export function nameAfterFolder(folder: string): string {
  return resolve(folder) === PACKAGE ? DEMO_APP : toSlug(basename(folder));
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

/** The origins of the pages of one of several apps: Vite takes the next port if another app's server has its port. */
export function listFrontEnds(name: string, apps: number): string[] {
  return Array.from({ length: apps }, (_, index) => toOrigin(name, FRONT_END_PORT + index));
}
