/** Waiting for a service that cannot take a push right now, for as long as `--wait` says. @module */
import { Problem } from "../../problem.ts";
import { EXIT, RefusedError, type Terminal } from "../cli/command.ts";

const POLL_LEAST_MS = 200;
const POLL_SPREAD_MS = 600;

export type Patience = { waitS: number; terminal: Terminal };

/** Asks again while the service is busy with another push, or the app has used up its pushes. */
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

/** How to wait after a refusal; `undefined` if waiting does not help. */
function readWait(error: unknown): Wait | undefined {
  if (!(error instanceof Problem)) return undefined;
  if (error.code === "rate_limited") {
    const ms = Number(error.headers["retry-after"] ?? Number.NaN) * 1000;
    return Number.isNaN(ms) ? undefined : { ms, why: error.message, isOver: () => error };
  }
  if (error.code !== "push_busy") return undefined;
  return {
    // Waiting commands must not retry in step.
    ms: POLL_LEAST_MS + Math.random() * POLL_SPREAD_MS,
    why: "another push is under way, or the tables are in use",
    isOver: (waitS) =>
      new RefusedError(
        `Another push is still under way after ${waitS} s: try again, or wait longer with --wait`,
        EXIT.refused,
        { code: "push_busy" },
      ),
  };
}
