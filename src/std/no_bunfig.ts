/** Bun's flag for a process that does not read the folder's bunfig.toml. @module */
import { devNull } from "node:os";

/** A `preload` in that file would run in the process, with everything that it knows. */
export const NO_BUNFIG = `--config=${devNull}`;
