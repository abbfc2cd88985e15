/**
 * A thread beside the evaluated schema that ends the process when the command that started it is gone, for whatever reason.
 * Otherwise a schema that loops forever would outlive it.
 *
 * @module
 */
import { readSync } from "node:fs";

/** Held open by the command and never written to: its end is the command's end. */
const LIFELINE = 4;

declare const self: Worker;
self.postMessage("on guard");
readSync(LIFELINE, new Uint8Array(1));
process.kill(process.pid, "SIGKILL");
