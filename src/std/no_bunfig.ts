/** Bun's flag for a process that does not read the folder's bunfig.toml. @module */
import { devNull } from "node:os";

/**
 * Keeps a `preload` in that file from running in a process that holds secrets.
 *
 * @example
 * ```ts
 * import { NO_BUNFIG } from "./no_bunfig.ts";
 * import { expect } from "bun:test";
 *
 * const { stdout } = Bun.spawnSync([process.execPath, NO_BUNFIG, "--version"]);
 * expect(stdout.toString().trim()).toBe(Bun.version);
 * ```
 */
export const NO_BUNFIG = `--config=${devNull}`;
