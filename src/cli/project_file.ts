/**
 * `rowhouse.json`: what a project knows about itself: its app, the port and previews of `dev`, and the environments that it
 * pushes to. It is committed and must not contain a key.
 *
 * @module
 */

import { lstatSync, realpathSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import * as v from "valibot";
import { describeUnreadable } from "../format.ts";
import { isPreview, PREVIEWS, type Preview } from "../preview.ts";
import type { Detail } from "../problem.ts";
import { SETTINGS, toKeyVariable } from "../settings/mod.ts";
import { showCount } from "../std/count.ts";
import { readIfThere } from "../std/files.ts";
import { isObject, tryParseJson } from "../std/json.ts";
import { findNearest } from "../std/names.ts";
import { errorCode, isHttpOrigin } from "../std/network.ts";
import { SLUG_PATTERN, SLUG_TEXTS } from "../std/patterns.ts";
import { quote } from "../std/quote.ts";
import { isVersion, VERSION } from "../std/version.ts";
import { EXIT, RejectedError, UsageError } from "./command.ts";

export const PROJECT_FILE = "rowhouse.json";
/** Selects all environments. */
export const ALL_ENVIRONMENTS = "all";
/** The running `rowhouse dev` of the project: an environment that every project has. */
export const DEV_ENVIRONMENT = "dev";

export type ProjectEnvironment = {
  name: string;
  url: string;
  /** Whether a push shows its plan and asks for confirmation. */
  confirm: boolean;
};

/** The content of the file. */
type ProjectSettings = {
  /** The slug of the app that `dev` serves; `undefined` in files of older projects. */
  app: string | undefined;
  /** The port of `dev`. */
  port: number | undefined;
  /** The previews of `dev`. */
  previews: readonly Preview[];
  /** Folders of other projects, whose apps `dev` also serves. */
  apps: readonly string[];
  /** In the order of the file. */
  environments: ProjectEnvironment[];
  /** Whether a push can start to use tables of other apps. */
  share: boolean;
};

const NONE: ProjectSettings = {
  ...{ app: undefined, port: undefined },
  ...{ previews: [], apps: [], environments: [], share: true },
};

const NAME = /^[a-z][a-z0-9-]{0,31}$/;
/** The variable with the key of an environment `x-file` would be that of the file with the key of `x`. */
const RESERVED = new RegExp(`^(${ALL_ENVIRONMENTS}|${DEV_ENVIRONMENT})$|(^|-)file$`);
const EXAMPLE = '{ "environments": { "staging": "https://api.staging.example.org" } }';
/** Likely names of a property that contains a key. */
const SECRET = /key|token|secret|password|credential/i;
const MAX_PORT = 65_535;

/** Host names that `dev` itself uses. */
const DEV_HOSTS: readonly string[] = ["api", "id"];
export const APP_TEXTS = `${SLUG_TEXTS}, and not ${DEV_HOSTS.join(" or ")}`;

/** Whether `dev` can serve an app with this slug. */
export function isAppName(text: string): boolean {
  return new RegExp(SLUG_PATTERN).test(text) && !DEV_HOSTS.includes(text);
}

/**
 * Checks where a command is about to write in a project: a cloned repository can contain a link to another folder.
 *
 * @throws {RejectedError} a folder on the way is a link that leads out of the project
 */
export function checkStaysInside(folder: string, path: string): void {
  const root = resolve(folder);
  const parts = relative(root, dirname(resolve(root, path))).split(sep);
  // A path outside was typed.
  if (parts[0] === "..") return;
  for (const [index] of parts.entries()) {
    const parent = join(root, ...parts.slice(0, index + 1));
    if (!isLink(parent) || leadsInside(realpathSync(root), parent)) continue;
    throw new RejectedError(
      `Cannot write ${relative(root, resolve(root, path))}: ${relative(root, parent)} is a link that leads out of the project. Replace it with a folder`,
    );
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function leadsInside(root: string, link: string): boolean {
  try {
    return `${realpathSync(link)}${sep}`.startsWith(`${root}${sep}`);
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ELOOP") return false;
    throw error;
  }
}

/** The environments of a project, without `dev`; none if it has no file. @throws as {@linkcode readProject} */
export function readEnvironments(folder: string): ProjectEnvironment[] {
  return readProject(folder).environments;
}

/**
 * The settings of a project; the defaults if it has no file.
 *
 * @throws {RejectedError} lists all errors with their paths, but no values: a value can be a secret
 */
export function readProject(folder: string): ProjectSettings {
  const text = readIfThere(join(folder, PROJECT_FILE));
  if (text === undefined) return NONE;
  const content = tryParseJson(text);
  const unreadable = describeUnreadable("project", content);
  if (unreadable !== undefined)
    throw new RejectedError(`Cannot use ${PROJECT_FILE}: it ${unreadable}`);
  const { settings, issues } = checkFile(content);
  if (issues.length === 0) return settings;
  const lines = issues.map(({ path, message }) => `  ${path}: ${message}`);
  throw new RejectedError(
    `Cannot use ${PROJECT_FILE}: it has ${showCount(issues.length, "error")}\n${lines.join("\n")}`,
    EXIT.rejected,
    { code: "invalid_project", details: issues },
  );
}

/** @throws {UsageError} the environment does not exist; lists all environments */
export function findEnvironment(
  environments: readonly ProjectEnvironment[],
  name: string,
): ProjectEnvironment {
  const environment = environments.find((environment) => environment.name === name);
  if (environment !== undefined) return environment;
  if (environments.length === 0)
    throw new UsageError(
      `Environment ${quote(name)} does not exist: add it to ${PROJECT_FILE}, such as ${EXAMPLE}`,
    );
  const names = [...environments.map((environment) => environment.name), DEV_ENVIRONMENT];
  const near = findNearest(name, names);
  const guess = near === undefined ? "" : `; did you mean ${near}?`;
  throw new UsageError(
    `Environment ${quote(name)} does not exist in ${PROJECT_FILE}: expected one of ${names.join(", ")}${guess}`,
  );
}

/** A property whose value `isValid`; an issue says what is expected, and never the value. `about` is for the docs. */
function property<Value>(about: string, expected = "", isValid = (_value: unknown) => true) {
  return v.optional(v.pipe(v.custom<Value>(isValid, expected), v.description(about)));
}

const isPort = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_PORT;
const isPreviews = (value: unknown): boolean =>
  Array.isArray(value) && value.every((name) => typeof name === "string" && isPreview(name));

const PROPERTIES = {
  app: property<string>(
    "the name of the app that `dev` creates and serves. Default: the name of the folder",
    `must be the slug of the app: ${APP_TEXTS}`,
    (value) => typeof value === "string" && isAppName(value),
  ),
  port: property<number>(
    `the port of \`dev\`, if the variable \`PORT\` is not set. Default: ${SETTINGS.PORT.initial}`,
    `must be a whole number from 0 to ${MAX_PORT}`,
    isPort,
  ),
  apps: property<string[]>(
    'folders of other projects whose apps `dev` also serves, such as `["../crm"]`',
    'must be a list of folders of other projects, such as ["../crm"]',
    (value) =>
      Array.isArray(value) && value.every((path) => typeof path === "string" && path !== ""),
  ),
  previews: property<Preview[]>(
    `previews that \`dev\` turns on, besides those that the schema needs: ${PREVIEWS.map((name) => `\`${name}\``).join(", ")}`,
    `must be a list of previews: ${PREVIEWS.join(", ")}`,
    isPreviews,
  ),
  environments: property<unknown>(
    'the services that a push can go to, by name: a URL, or `{ "url", "confirm" }`. With `"confirm": true`, a push from a terminal asks first',
  ),
  share: property<boolean>(
    "whether a push can start to use tables of other apps. Default: `true`",
    "must be true or false",
    (value) => typeof value === "boolean",
  ),
  version: property<unknown>("the version of the format. Default: 1"),
  rowhouse: property<string>(
    "the version of Rowhouse that wrote the file: the error about a newer format names it",
    `must be a version such as ${VERSION}`,
    (value) => typeof value === "string" && isVersion(value),
  ),
};
/** What each property means, for the docs. */
export const PROJECT_PROPERTIES = Object.entries(PROPERTIES).map(([name, { wrapped }]) => ({
  name,
  about: v.getDescription(wrapped) ?? "",
}));
const Properties = v.object(PROPERTIES);
/** The name of `environments` in files of earlier builds. */
const FORMER = "places";

type Checked = { settings: ProjectSettings; issues: Detail[] };

function checkFile(value: unknown): Checked {
  if (!isObject(value))
    return { settings: NONE, issues: [{ path: "/", message: `must be JSON such as ${EXAMPLE}` }] };
  const read = v.safeParse(Properties, value);
  const { app, port, previews = [], apps = [], share = true } = read.success ? read.output : NONE;
  const isFormer = value["environments"] === undefined && value[FORMER] !== undefined;
  const { environments, issues } = checkEnvironments(isFormer ? FORMER : "environments", value);
  const both = [
    { path: `/${FORMER}`, message: "is the former name of environments: use only one" },
  ];
  return {
    settings: { app, port, previews, apps, share, environments },
    issues: [
      ...findUnknown(value, "", {
        known: Object.keys(PROPERTIES),
        former: FORMER,
        variable: "ROWHOUSE_API_KEY",
      }),
      ...(read.issues ?? []).map((issue) => ({
        path: `/${v.getDotPath(issue)}`,
        message: issue.message,
      })),
      ...(isFormer || value[FORMER] === undefined ? [] : both),
      ...issues,
    ],
  };
}

type CheckedEnvironments = { environments: ProjectEnvironment[]; issues: Detail[] };

function checkEnvironments(
  property: string,
  { [property]: listed = {} }: Readonly<Record<string, unknown>>,
): CheckedEnvironments {
  const path = `/${property}`;
  if (!isObject(listed))
    return {
      environments: [],
      issues: [{ path, message: "must be an object of names and URLs" }],
    };
  const checked = Object.entries(listed).map(([name, environment]) =>
    checkEnvironment(path, name, environment),
  );
  return {
    environments: checked.flatMap((part) => part.environments),
    issues: checked.flatMap((part) => part.issues),
  };
}

/** A URL, or an object with more about the environment. */
function checkEnvironment(parent: string, name: string, value: unknown): CheckedEnvironments {
  const path = `${parent}/${name.slice(0, 100)}`;
  const parts = isObject(value) ? value : { url: value };
  const { url, confirm = false } = parts;
  const issues = findUnknown(parts, path, {
    known: ["url", "confirm"],
    variable: NAME.test(name) ? toKeyVariable(name) : "ROWHOUSE_API_KEY",
  });
  if (!NAME.test(name) || RESERVED.test(name))
    issues.push({
      path,
      message: `the name must be 1 to 32 lowercase letters, digits or hyphens, starting with a letter, not ${ALL_ENVIRONMENTS} or ${DEV_ENVIRONMENT} (the running rowhouse dev), and not ending with file`,
    });
  const isUrl = typeof url === "string" && isHttpOrigin(url);
  if (!isUrl)
    issues.push({
      path: isObject(value) ? `${path}/url` : path,
      message:
        "must be an origin such as https://api.example.org, without a path or a trailing slash",
    });
  if (typeof confirm !== "boolean")
    issues.push({ path: `${path}/confirm`, message: "must be true or false" });
  return { environments: [{ name, url: isUrl ? url : "", confirm: confirm === true }], issues };
}

type KnownProperties = { known: readonly string[]; former?: string; variable: string };

/** Reports properties that look like keys: anyone who can read the repository could push with the key. */
function findUnknown(
  value: object,
  path: string,
  { known, former, variable }: KnownProperties,
): Detail[] {
  return Object.keys(value)
    .filter((name) => !known.includes(name) && name !== former)
    .map((name) => ({
      path: `${path}/${name.slice(0, 100)}`,
      message: SECRET.test(name)
        ? `a key must not be in this file, which is in version control: remove it, revoke it if it was committed, and set ${variable}`
        : `unknown property: must be one of ${known.join(", ")}`,
    }));
}
