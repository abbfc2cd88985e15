/**
 * A thread next to the evaluated schema that ends the process when the command ends. Otherwise a schema that loops forever would
 * outlive the command.
 *
 * @module
 */
import { readSync } from "node:fs";
import { Socket } from "node:net";
import { parentPort } from "node:worker_threads";

/** The command holds it open and never writes to it: it closes when the command ends. */
const LIFELINE = 4;

const end = () => process.kill(process.pid, "SIGKILL");
parentPort?.postMessage("on guard");
if (process.versions.bun === undefined)
  // Under Node, a process that exits waits for its threads, and a blocking read keeps a thread.
  new Socket({ fd: LIFELINE }).on("close", end).resume();
else {
  readSync(LIFELINE, new Uint8Array(1));
  end();
}
