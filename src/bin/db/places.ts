/** `rowhouse.json`: the places that a project pushes to, and whether it shares tables. It is committed and must not contain a key. @module */
import { join } from "node:path";
import { toKeyVariable } from "../../config/mod.ts";
import type { Detail } from "../../problem.ts";
import { readIfThere } from "../../std/files.ts";
import { findNearest } from "../../std/find_nearest.ts";
import { isHttpOrigin } from "../../std/is_http_origin.ts";
import { quote } from "../../std/quote.ts";
import { tryParseJson } from "../../std/try_parse_json.ts";
import { EXIT, RejectedError, UsageError } from "../cli/command.ts";

export const PLACES_FILE = "rowhouse.json";
/** Selects all places. */
export const ALL_PLACES = "all";

export type Place = {
  name: string;
  url: string;
  /** Whether a push shows its plan and asks for confirmation. */
  confirm: boolean;
};

const NAME = /^[a-z][a-z0-9-]{0,31}$/;
const EXAMPLE = '{ "places": { "staging": "https://api.staging.example.org" } }';
/** Likely names of a property that contains a key. */
const SECRET = /key|token|secret|password|credential/i;

/** The content of the file. */
export type ProjectSettings = {
  /** In the order of the file. */
  places: Place[];
  /** Whether a push can start to use tables of other apps. */
  share: boolean;
};

/** The places of a project; none if it has no file. @throws as {@linkcode readProject} */
export function readPlaces(folder: string): Place[] {
  return readProject(folder).places;
}

/**
 * The settings of a project; the defaults if it has no file.
 *
 * @throws {RejectedError} lists all errors with their paths, but no values: a value can be a secret
 */
export function readProject(folder: string): ProjectSettings {
  const text = readIfThere(join(folder, PLACES_FILE));
  if (text === undefined) return { places: [], share: true };
  const { places, share, issues } = checkFile(tryParseJson(text));
  if (issues.length === 0) return { places, share };
  const lines = issues.map(({ path, message }) => `  ${path}: ${message}`);
  throw new RejectedError(
    `Cannot use ${PLACES_FILE}: it has ${issues.length} ${issues.length === 1 ? "error" : "errors"}\n${lines.join("\n")}`,
    EXIT.rejected,
    { code: "invalid_places", details: issues },
  );
}

/** @throws {UsageError} the place does not exist; lists all places */
export function findPlace(places: readonly Place[], name: string): Place {
  const place = places.find((place) => place.name === name);
  if (place !== undefined) return place;
  if (places.length === 0)
    throw new UsageError(
      `Place ${quote(name)} does not exist: add it to ${PLACES_FILE}, such as ${EXAMPLE}`,
    );
  const names = places.map((place) => place.name);
  const near = findNearest(name, names);
  const guess = near === undefined ? "" : `; did you mean ${near}?`;
  throw new UsageError(
    `Place ${quote(name)} does not exist in ${PLACES_FILE}: expected one of ${names.join(", ")}${guess}`,
  );
}

type Checked = { places: Place[]; issues: Detail[] };

function checkFile(value: unknown): Checked & { share: boolean } {
  const none = { places: [], share: true };
  if (!isObject(value))
    return { ...none, issues: [{ path: "/", message: `must be JSON such as ${EXAMPLE}` }] };
  const { places = {}, share = true } = value;
  const issues = findUnknown(value, "", {
    known: ["places", "share"],
    variable: "ROWHOUSE_API_KEY",
  });
  if (typeof share !== "boolean") issues.push({ path: "/share", message: "must be true or false" });
  if (!isObject(places))
    return {
      ...none,
      issues: [...issues, { path: "/places", message: "must be an object of names and URLs" }],
    };
  const checked = Object.entries(places).map(([name, place]) => checkPlace(name, place));
  return {
    places: checked.flatMap((part) => part.places),
    share: share === true,
    issues: [...issues, ...checked.flatMap((part) => part.issues)],
  };
}

/** A URL, or an object with more about the place. */
function checkPlace(name: string, value: unknown): Checked {
  const path = `/places/${name.slice(0, 100)}`;
  const parts = isObject(value) ? value : { url: value };
  const { url, confirm = false } = parts;
  const issues = findUnknown(parts, path, {
    known: ["url", "confirm"],
    variable: NAME.test(name) ? toKeyVariable(name) : "ROWHOUSE_API_KEY",
  });
  if (!NAME.test(name) || name === ALL_PLACES)
    issues.push({
      path,
      message: `the name must be 1 to 32 lower-case letters, digits or hyphens, starting with a letter, and not ${ALL_PLACES}`,
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
  return { places: [{ name, url: isUrl ? url : "", confirm: confirm === true }], issues };
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
