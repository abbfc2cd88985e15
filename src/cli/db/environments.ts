/**
 * `rowhouse.json`: the environments that a project pushes to, and whether it shares tables. It is committed and must not
 * contain a key.
 *
 * @module
 */
import { join } from "node:path";
import { describeUnreadable } from "../../format.ts";
import type { Detail } from "../../problem.ts";
import { toKeyVariable } from "../../settings/mod.ts";
import { readIfThere } from "../../std/files.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
import { findNearest } from "../../std/names.ts";
import { isHttpOrigin } from "../../std/network.ts";
import { quote } from "../../std/quote.ts";
import { isVersion, VERSION } from "../../std/version.ts";
import { EXIT, RejectedError, UsageError } from "../command.ts";
import { showCount } from "../terminal.ts";

export const PROJECT_FILE = "rowhouse.json";
/** Selects all environments. */
export const ALL_ENVIRONMENTS = "all";

export type ProjectEnvironment = {
  name: string;
  url: string;
  /** Whether a push shows its plan and asks for confirmation. */
  confirm: boolean;
};

const NAME = /^[a-z][a-z0-9-]{0,31}$/;
/** The variable with the key of an environment `x-file` would be that of the file with the key of `x`. */
const RESERVED = new RegExp(`^${ALL_ENVIRONMENTS}$|(^|-)file$`);
const EXAMPLE = '{ "places": { "staging": "https://api.staging.example.org" } }';
/** Likely names of a property that contains a key. */
const SECRET = /key|token|secret|password|credential/i;

/** The content of the file. */
type ProjectSettings = {
  /** In the order of the file. */
  environments: ProjectEnvironment[];
  /** Whether a push can start to use tables of other apps. */
  share: boolean;
};

/** The environments of a project; none if it has no file. @throws as {@linkcode readProject} */
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
  if (text === undefined) return { environments: [], share: true };
  const content = tryParseJson(text);
  const unreadable = describeUnreadable("project", content);
  if (unreadable !== undefined)
    throw new RejectedError(`Cannot use ${PROJECT_FILE}: it ${unreadable}`);
  const { environments, share, issues } = checkFile(content);
  if (issues.length === 0) return { environments, share };
  const lines = issues.map(({ path, message }) => `  ${path}: ${message}`);
  throw new RejectedError(
    `Cannot use ${PROJECT_FILE}: it has ${showCount(issues.length, "error")}\n${lines.join("\n")}`,
    EXIT.rejected,
    { code: "invalid_places", details: issues },
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
  const names = environments.map((environment) => environment.name);
  const near = findNearest(name, names);
  const guess = near === undefined ? "" : `; did you mean ${near}?`;
  throw new UsageError(
    `Environment ${quote(name)} does not exist in ${PROJECT_FILE}: expected one of ${names.join(", ")}${guess}`,
  );
}

type Checked = { environments: ProjectEnvironment[]; issues: Detail[] };

function checkFile(value: unknown): Checked & { share: boolean } {
  const none = { environments: [], share: true };
  if (!isObject(value))
    return { ...none, issues: [{ path: "/", message: `must be JSON such as ${EXAMPLE}` }] };
  const { places: environments = {}, share = true, rowhouse = VERSION } = value;
  const issues = findUnknown(value, "", {
    known: ["places", "share", "version", "rowhouse"],
    variable: "ROWHOUSE_API_KEY",
  });
  if (typeof rowhouse !== "string" || !isVersion(rowhouse))
    issues.push({ path: "/rowhouse", message: `must be a version such as ${VERSION}` });
  if (typeof share !== "boolean") issues.push({ path: "/share", message: "must be true or false" });
  if (!isObject(environments))
    return {
      ...none,
      issues: [...issues, { path: "/places", message: "must be an object of names and URLs" }],
    };
  const checked = Object.entries(environments).map(([name, environment]) =>
    checkEnvironment(name, environment),
  );
  return {
    environments: checked.flatMap((part) => part.environments),
    share: share === true,
    issues: [...issues, ...checked.flatMap((part) => part.issues)],
  };
}

/** A URL, or an object with more about the environment. */
function checkEnvironment(name: string, value: unknown): Checked {
  const path = `/places/${name.slice(0, 100)}`;
  const parts = isObject(value) ? value : { url: value };
  const { url, confirm = false } = parts;
  const issues = findUnknown(parts, path, {
    known: ["url", "confirm"],
    variable: NAME.test(name) ? toKeyVariable(name) : "ROWHOUSE_API_KEY",
  });
  if (!NAME.test(name) || RESERVED.test(name))
    issues.push({
      path,
      message: `the name must be 1 to 32 lowercase letters, digits or hyphens, starting with a letter, not ${ALL_ENVIRONMENTS}, and not ending with file`,
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

/** Reports properties that look like keys: anyone who can read the repository could push with the key. */
function findUnknown(
  value: object,
  path: string,
  { known, variable }: { known: readonly string[]; variable: string },
): Detail[] {
  return Object.keys(value)
    .filter((name) => !known.includes(name))
    .map((name) => ({
      path: `${path}/${name.slice(0, 100)}`,
      message: SECRET.test(name)
        ? `a key must not be in this file, which is in version control: remove it, revoke it if it was committed, and set ${variable}`
        : `unknown property: must be one of ${known.join(", ")}`,
    }));
}
