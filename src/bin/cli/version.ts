/** What this package says of itself: its version, and the development packages that it is tested with. @module */
import manifest from "../../../package.json" with { type: "json" };

export const VERSION: string = manifest.version;

/** Exact versions by name. */
export const TESTED_WITH: Readonly<Record<string, string>> = manifest.devDependencies;

/** Packages whose install scripts must run. */
export const TRUSTED: readonly string[] = manifest.trustedDependencies;
