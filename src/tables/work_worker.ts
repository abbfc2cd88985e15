/** The thread that runs tasks of pushes, one after the other. Has no database and no settings. @module */
import { parentPort } from "node:worker_threads";
import { Problem } from "../problem.ts";
import { VERSION } from "../std/version.ts";
import { busy } from "./plan/rejections.ts";
import { runTask, type TaskName } from "./work.ts";

/** A result, or an error as plain data. */
export type TaskReply =
  | { value: unknown }
  | { problem: Pick<Problem, "code" | "message" | "details" | "headers"> }
  | { failure: string };

type Asked = { version?: string; name: TaskName; input: Parameters<typeof runTask>[1] };

parentPort?.on("message", (text: string) => {
  // A text crosses threads many times faster than an object.
  parentPort?.postMessage(JSON.stringify(reply(JSON.parse(text))));
});

/**
 * An operator can have replaced the program since a process of another version started: its thread loads these files. What they
 * generate is not of its release, so its pushes wait until it is restarted.
 */
function reply({ version, name, input }: Asked): TaskReply {
  try {
    if (version !== VERSION) throw busy();
    return { value: runTask(name, input) };
  } catch (error) {
    if (error instanceof Problem) {
      const { code, message, details, headers } = error;
      return { problem: { code, message, details, headers } };
    }
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
