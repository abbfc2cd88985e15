/** The output of a process, up to a limit. @module */
import type { ChildProcess } from "node:child_process";

/** The first part of a process's output; the rest is read too, so that the process never blocks. */
export function collect(child: ChildProcess): () => string {
  let text = "";
  const add = (chunk: Buffer) => {
    if (text.length < 100_000) text += chunk.toString();
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  return () => text;
}
