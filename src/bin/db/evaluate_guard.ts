/**
 * A thread next to the evaluated schema that ends the process when the command ends. Otherwise a schema that loops forever would
 * outlive the command.
 *
 * @module
 */
import { readSync } from "node:fs";
import { parentPort } from "node:worker_threads";

/** The command holds it open and never writes to it: it closes when the command ends. */
const LIFELINE = 4;

parentPort?.postMessage("on guard");
readSync(LIFELINE, new Uint8Array(1));
process.kill(process.pid, "SIGKILL");
