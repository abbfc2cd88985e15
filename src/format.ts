/**
 * The formats of files that another version of Rowhouse can read later. A file names the version of its format, and the Rowhouse
 * that wrote it. A command reads every version up to its own, and rejects a newer one before it changes anything.
 *
 * Raise `current` when an older command would misread the file, and keep reading the versions below.
 *
 * @module
 */
import { isObject } from "./std/json.ts";
import { isVersion, VERSION } from "./std/version.ts";

type Format = {
  /** The file, for the table in the docs. */
  file: string;
  /** What names the version; without it, the version is 1. */
  names: string;
  /** The newest version. This release reads all versions from 1, and writes it unless an older release can read the content. */
  current: number;
};

export const FORMATS = {
  archive: {
    file: "archive of `rowhouse admin export-app`",
    names: "`version` in the first line",
    current: 3,
  },
  project: { file: "`rowhouse.json`", names: "`version`", current: 1 },
  migration: { file: "`migrations/NNNN_<name>.sql`", names: "the first line", current: 2 },
  dev: {
    file: "`.rowhouse/`, the folder of `rowhouse dev`",
    names: "`version` in `secrets.json`, `dev.json` and `changes.json`",
    current: 1,
  },
} as const satisfies Readonly<Record<string, Format>>;

export type FormatName = keyof typeof FORMATS;

/** The fields that name the format in a JSON file. */
export function nameFormat(
  format: FormatName,
  version: number = FORMATS[format].current,
): { version: number; rowhouse: string } {
  return { version, rowhouse: VERSION };
}

/** No format will have more versions. */
const MAX_VERSION = 9999;

/**
 * Why a file cannot be read: the version of its format is newer, or none. `undefined` for any other content; `reader` reads it.
 * Other text of a file is not repeated.
 *
 * @example
 * ```ts
 * expect(describeUnreadable("project", { environments: {} })).toBeUndefined();
 * expect(describeUnreadable("project", { version: 2, rowhouse: "9.1.0" }, "rowhouse 0.1.0")).toBe(
 *   "has version 2 of its format, but rowhouse 0.1.0 reads only version 1: install rowhouse 9.1.0 or newer",
 * );
 * expect(describeUnreadable("project", { version: 1.5 })).toBe(
 *   "names no version of its format: version must be 1",
 * );
 * ```
 */
export function describeUnreadable(
  format: FormatName,
  content: unknown,
  reader = `rowhouse ${VERSION}`,
): string | undefined {
  if (!isObject(content) || content["version"] === undefined) return undefined;
  const { version, rowhouse } = content;
  const { current }: Format = FORMATS[format];
  const isNumber = typeof version === "number" && Number.isInteger(version);
  if (!isNumber || version < 1 || version > MAX_VERSION)
    return `names no version of its format: version must be ${current === 1 ? "1" : `1 to ${current}`}`;
  if (version <= current) return undefined;
  const known = current === 1 ? "only version 1" : `versions 1 to ${current}`;
  const isNamed = typeof rowhouse === "string" && isVersion(rowhouse);
  const wanted = isNamed ? `rowhouse ${rowhouse} or newer` : "a newer rowhouse";
  return `has version ${version} of its format, but ${reader} reads ${known}: install ${wanted}`;
}
