/** Waiting for a service that cannot accept a push right now, for as long as `--wait` says. @module */
import { Problem } from "../../problem.ts";
import { EXIT, RefusedError, type Terminal } from "../cli/command.ts";
import type { SchemaService } from "./schema_service.ts";

const POLL_LEAST_MS = 200;
const POLL_SPREAD_MS = 600;

export type Patience = { waitS: number; terminal: Terminal };

/** The service, asked again while it is overloaded or busy with another push, or the app has used up its pushes. */
export function makePatient(service: SchemaService, patience: Patience): SchemaService {
  return {
    push: (...given) => askPatiently(() => service.push(...given), patience),
    replay: (...given) => askPatiently(() => service.replay(...given), patience),
    join: (...given) => askPatiently(() => service.join(...given), patience),
    change: (...given) => askPatiently(() => service.change(...given), patience),
    planReplay: (...given) => askPatiently(() => service.planReplay(...given), patience),
    status: () => askPatiently(service.status, patience),
    migration: (seq) => askPatiently(() => service.migration(seq), patience),
  };
}

/** The answer of a call that is repeated while the service says that it has done nothing, and when to come again. */
export async function askPatiently<Answer>(
  ask: () => Promise<Answer>,
  { waitS, terminal }: Patience,
): Promise<Answer> {
  let isTold = false;
  const deadline = performance.now() + waitS * 1000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const wait = readWait(error);
      if (wait === undefined) throw error;
      if (performance.now() + wait.ms > deadline) throw wait.isOver(waitS);
      if (!isTold) terminal.warn(`Waiting: ${wait.why}`);
      isTold = true;
      await Bun.sleep(wait.ms);
    }
  }
}

type Wait = { ms: number; why: string; isOver: (waitS: number) => Error };

/** How to wait after an error; `undefined` if waiting does not help. */
function readWait(error: unknown): Wait | undefined {
  if (error instanceof RefusedError && error.told.code === "overloaded")
    return { ms: toPollMs(), why: error.message, isOver: () => error };
  if (!(error instanceof Problem)) return undefined;
  if (error.code === "overloaded")
    return { ms: toPollMs(), why: error.message, isOver: () => error };
  if (error.code === "rate_limited") {
    const ms = Number(error.headers["retry-after"] ?? Number.NaN) * 1000;
    return Number.isNaN(ms) ? undefined : { ms, why: error.message, isOver: () => error };
  }
  if (error.code !== "push_busy") return undefined;
  return {
    ms: toPollMs(),
    why: "another push is under way, or the tables are in use",
    isOver: (waitS) =>
      new RefusedError(
        `Another push is still under way after ${waitS} s: try again, or wait longer with --wait`,
        EXIT.refused,
        { code: "push_busy" },
      ),
  };
}

/** Waiting commands must not retry in step. */
function toPollMs(): number {
  return POLL_LEAST_MS + Math.random() * POLL_SPREAD_MS;
}
