/** Converts an error of a table's function to a Problem. @module */
import { type Endpoint, type EndpointCall, ofAnotherRelease } from "../catalog/mod.ts";
import { readSqlState, SIGNALS, SignalError } from "../db/mod.ts";
import { keyRejected } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import type { DataDeps } from "./deps.ts";

export const NO_SUCH_FUNCTION = "42883";

/**
 * The database rejects a key that has just ended; the gateway rejects it from then on. If the functions belong to another
 * release than the process, the error states this, and callers can retry after the deployment.
 */
export function toCallError(
  error: unknown,
  { maxResponseBytes }: DataDeps,
  call: EndpointCall,
): unknown {
  const signal = error instanceof SignalError ? error.signal : undefined;
  if (signal === SIGNALS.keyRejected) return keyRejected(error);
  const writesNothing = call.endpoint === "update" && call.values.body === "{}";
  const rejectWrite = writesNothing ? undefined : TOO_LARGE[call.endpoint];
  if (error instanceof SignalError && signal === SIGNALS.rowTooLarge)
    return rejectWrite?.(maxResponseBytes) ?? tooLarge(error.detail);
  const state = readSqlState(error);
  if (state === PROGRAM_LIMIT) return rejectWrite?.(maxResponseBytes) ?? tooLarge();
  return state === NO_SUCH_FUNCTION ? ofAnotherRelease(error) : error;
}

/** PostgreSQL cannot build a value of 1 GB, so it cannot measure such a row. */
const PROGRAM_LIMIT = "54000";

const TOO_LARGE: Readonly<Partial<Record<Endpoint, (maxBytes: number) => Problem>>> = {
  create: wouldBeTooLarge,
  create_many: rowsTooLarge,
  update: wouldBeTooLarge,
};

export function rowsTooLarge(maxBytes: number): Problem {
  return new Problem("body_too_large", {
    message: `The rows would be larger than ${maxBytes} bytes as JSON, the max size of a response; nothing was written: send fewer at a time`,
  });
}

function wouldBeTooLarge(maxBytes: number): Problem {
  return new Problem("validation_failed", {
    message: `The row would be larger than ${maxBytes} bytes as JSON, the max size of a response; nothing was written`,
  });
}

function tooLarge(id?: string): Problem {
  const message =
    id === undefined
      ? "A row of this page is too large for a response: request fewer rows, down to limit=1, to find and skip it"
      : `The row ${id} is too large for a response: skip it with an offset one higher, or make it smaller`;
  return new Problem("response_too_large", { message });
}
