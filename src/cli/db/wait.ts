/** Waits for a service that cannot accept a push yet, up to `--wait` seconds. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { PROBLEMS, Problem, toSentence } from "../../problem.ts";
import { EXIT, RejectedError, type Terminal } from "../command.ts";
import type { SchemaService } from "./schema_service.ts";

const POLL_LEAST_MS = 200;
const POLL_SPREAD_MS = 600;

type Patience = { waitS: number; terminal: Terminal };

/** Repeats calls while the service is overloaded or busy with another push, or the app is over its push limit. */
export function makePatient(service: SchemaService, patience: Patience): SchemaService {
  return {
    push: (request) => askPatiently(() => service.push(request), patience),
    status: () => askPatiently(service.status, patience),
    migration: (seq) => askPatiently(() => service.migration(seq), patience),
  };
}

/** Repeats a call while the service reports that it did nothing and the call can be retried. */
export async function askPatiently<Result>(
  ask: () => Promise<Result>,
  { waitS, terminal }: Patience,
): Promise<Result> {
  let isReported = false;
  const deadline = performance.now() + waitS * 1000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const wait = readWait(error);
      if (wait === undefined) throw error;
      if (performance.now() + wait.ms > deadline) throw wait.isOver(waitS);
      if (!isReported) terminal.warn(`Waiting: ${wait.why}`);
      isReported = true;
      await sleep(wait.ms);
    }
  }
}

type Wait = { ms: number; why: string; isOver: (waitS: number) => Error };

/** How to wait after an error; `undefined` if waiting does not help. */
function readWait(error: unknown): Wait | undefined {
  if (error instanceof RejectedError && error.report.code === "overloaded")
    return { ms: toPollMs(), why: error.message, isOver: () => error };
  if (!(error instanceof Problem)) return undefined;
  if (error.code === "overloaded")
    return { ms: toPollMs(), why: error.message, isOver: () => error };
  if (error.code === "rate_limited") {
    const ms = Number(error.headers["retry-after"] ?? Number.NaN) * 1000;
    return Number.isNaN(ms) ? undefined : { ms, why: error.message, isOver: () => error };
  }
  if (error.code !== "push_busy") return undefined;
  if (error.message !== toSentence(PROBLEMS.push_busy.when))
    return { ms: toPollMs(), why: error.message, isOver: () => error };
  return {
    ms: toPollMs(),
    why: "another push is in progress, the tables are in use, or the operator upgrades the service",
    isOver: (waitS) =>
      new RejectedError(
        `Another push, or an upgrade of the service, is still in progress after ${waitS} s: try again, or wait longer with --wait`,
        EXIT.rejected,
        { code: "push_busy" },
      ),
  };
}

/** Random, so that waiting commands do not retry at the same time. */
function toPollMs(): number {
  return POLL_LEAST_MS + Math.random() * POLL_SPREAD_MS;
}
