/** Replaces the modules of a command that runs only under Bun, in the command that is built for Node. @module */
import { RejectedError } from "./command.ts";
import { BUN_MISSING } from "./package.ts";

throw new RejectedError(BUN_MISSING);
