/** Lines for standard output or standard error, buffered: all lines of one turn of the event loop need one system call. @module */
import { errorCode } from "./network.ts";

type LineBuffer = {
  readonly write: (line: string) => void;
  /** Writes text without a line end. */
  readonly print: (text: string) => void;
  /** Passes buffered text to the file. */
  readonly pass: () => void;
  /** Waits until everything is written; call it before the process ends. Returns the code of the error of the last write. */
  readonly flush: () => Promise<string | undefined>;
};

/**
 * Buffers lines: all lines of one turn of the event loop need one system call.
 *
 * @example
 * ```ts
 * const written: string[] = [];
 * const lines = bufferLines({ write: (text) => written.push(text), flush: () => undefined });
 * lines.write("a");
 * lines.print("b");
 * expect([await lines.flush(), written]).toEqual([undefined, ["a\nb"]]);
 * ```
 */
export function bufferLines(sink: Sink): LineBuffer {
  let waiting = "";
  let written: Promise<string | undefined> | undefined;
  const pass = (): void => {
    if (waiting === "") return;
    written = findFailure(() => sink.write(waiting));
    waiting = "";
  };
  const flush = async () => {
    pass();
    return (await written) ?? (await findFailure(sink.flush));
  };
  const print = (text: string): void => {
    if (waiting === "") setImmediate(() => void flush());
    waiting += text;
  };
  return { write: (line) => print(`${line}\n`), print, pass, flush };
}

async function findFailure(work: () => unknown): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return errorCode(error) ?? "unknown error";
  }
}

type Sink = {
  /** A promise rejects if the text cannot be written. */
  readonly write: (text: string) => unknown;
  readonly flush: () => unknown;
};

/** Under Bun, uses Bun's writer, the fastest for the log of a service. */
export function openSink(name: "stdout" | "stderr"): Sink {
  if (process.versions.bun !== undefined) {
    const writer = Bun[name].writer();
    return { write: (text) => writer.write(text), flush: () => writer.flush() };
  }
  const stream = process[name];
  let failure: Error | undefined;
  // After an error the stream is closed, and the next writes fail for that reason.
  stream.on("error", (error) => {
    failure ??= error;
  });
  return {
    write: (text) =>
      new Promise<void>((resolve, reject) => {
        stream.write(text, (error) => (error == null ? resolve() : reject(failure ?? error)));
      }),
    flush: () => undefined,
  };
}
