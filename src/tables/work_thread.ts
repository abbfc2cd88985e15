/**
 * A thread for the work of pushes, so that requests for rows never wait for it. Starts with the first task and ends when it is
 * idle, because it holds memory. Runs one task at a time; apps alternate.
 *
 * @module
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { Problem } from "../problem.ts";
import { makeFairQueue } from "../std/fair_queue.ts";
import { VERSION } from "../std/version.ts";
import type { Work, workInPlace } from "./work.ts";
import type { TaskReply } from "./work_worker.ts";

/** How long the thread waits for another task, in milliseconds. */
const IDLE_MS = 30_000;

type Job = {
  readonly appId: string;
  readonly message: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
};

/** One thread for all services of the process: to start it needs a tenth of a second of CPU. */
export const workInThread: Work = makeWorkThread();

function makeWorkThread(): Work {
  const queue = makeFairQueue<Job>({ connections: 1, perQueue: Infinity, total: Infinity });
  let worker: Worker | undefined;
  let current: Job | undefined;
  let idle: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    void worker?.terminate();
    worker = undefined;
  };
  const start = (): Worker => {
    const started = new Worker(
      new URL(`./work_worker${extname(import.meta.url)}`, import.meta.url),
    );
    started.unref();
    started.on("message", (text: string) => finish((job) => settle(job, text)));
    const fail = (cause: unknown) => {
      if (worker !== started) return;
      end();
      finish(({ reject }) => reject(new Error("The thread for pushes has ended", { cause })));
    };
    started.on("error", fail);
    started.on("exit", fail);
    return started;
  };
  const next = () => {
    if (current !== undefined) return;
    current = queue.next();
    if (current === undefined) {
      idle = setTimeout(end, IDLE_MS);
      idle.unref();
      return;
    }
    worker ??= start();
    worker.postMessage(current.message);
  };
  const finish = (conclude: (job: Job) => void) => {
    const job = current;
    if (job === undefined) return;
    current = undefined;
    queue.finish(job.appId);
    conclude(job);
    next();
  };
  return (appId, name, input) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    clearTimeout(idle);
    queue.join(appId, {
      appId,
      message: JSON.stringify({ version: VERSION, name, input }),
      resolve,
      reject,
    });
    next();
    // The reply is the result of the task with this name.
    return promise as ReturnType<typeof workInPlace<typeof name>>;
  };
}

function settle({ resolve, reject }: Job, text: string): void {
  const reply: TaskReply = JSON.parse(text);
  if ("value" in reply) resolve(reply.value);
  else reject(toError(reply));
}

function toError(reply: Exclude<TaskReply, { value: unknown }>): Error {
  if ("failure" in reply) return new Error(`A task of a push failed: ${reply.failure}`);
  const { code, message, headers, details } = reply.problem;
  return new Problem(code, { message, headers, ...(details === undefined ? {} : { details }) });
}
