/**
 * Runs a statement on an exclusive connection, or a brief one on a shared connection. Repeats it if it certainly had no effect and
 * can succeed now.
 *
 * @module
 */
import { Problem } from "../../problem.ts";
import type { Lane } from "../../std/fair_queue.ts";
import { errorCode } from "../../std/network.ts";
import { isMisrouted, isOutdated, isUnconnected } from "../node_errors.ts";
import { isWorthAnother, toDatabaseError } from "../sqlstate.ts";
import type { Acquirer } from "./acquire.ts";
import type { Touched } from "./affinity.ts";
import type { Connection, Statement } from "./connection.ts";
import { hasEcho, makeEcho } from "./echo.ts";
import type { Nodes } from "./nodes.ts";
import { type Caller, lost, runStatement, type StatementEnd } from "./statement.ts";
import type { Ticker } from "./ticker.ts";

/** Max wait for a connection. */
export const ACQUIRE_LIMIT_MS = 3000;
const PAUSE_MS = 20;
const LOCK_TIMEOUT = "55P03";

export type RunParts = {
  acquirer: Acquirer;
  ticker: Ticker;
  nodes?: Nodes | undefined;
  /** Called when a result did not match its request, which must never happen. */
  onMismatch?: (() => void) | undefined;
  /** For a call that goes straight to a node: serves the call if the node is unavailable or cannot forward it. */
  coordinator?: Acquirer;
};

export type Work = {
  statement: Statement;
  /**
   * The text of the same call for a connection with several callers: it fails soon if it has to wait for a lock, and returns
   * {@linkcode echoColumn} after its result. Only for a short write.
   */
  brief?: string | undefined;
  call: {
    retry: "safe" | "unsafe";
    queue: string;
    lane?: Lane | undefined;
    caller?: Caller;
    touched?: readonly Touched[] | undefined;
    meter?: { dbMs: number };
  };
  limitMs: number;
  attempts: number;
};

/** The rows; the first attempt uses the acquired connection, if given. @throws {Error} see `toDatabaseError` */
export async function run<Row>(parts: RunParts, work: Work, acquired?: Connection): Promise<Row[]> {
  const { acquirer, nodes, coordinator } = parts;
  const { queue, lane, caller, meter, retry } = work.call;
  const askedAt = performance.now();
  let startedAt: number | undefined;
  for (let attempt = 1; ; attempt++) {
    const isBrief = attempt === 1 && isBriefNow(parts, work);
    const pending =
      (attempt === 1 ? acquired : undefined) ?? acquirer.acquire(queue, { caller, lane, isBrief });
    const connection = pending instanceof Promise ? await orElse(pending, parts) : pending;
    if (connection === undefined) return await run(throughCoordinator(parts), work);
    const sentAt = performance.now();
    startedAt ??= sentAt;
    const limitMs = Math.max(work.limitMs - (sentAt - startedAt), 1);
    const shared = acquirer.isShared(connection) ? work.brief : undefined;
    const end = await send(parts, { ...work, limitMs }, { connection, shared });
    if (meter !== undefined) meter.dbMs += performance.now() - sentAt;
    acquirer.release(work.call, connection, end.isSuspect);
    if ("rows" in end) {
      nodes?.hear(queue, sentAt);
      return end.rows as Row[];
    }
    if (shared !== undefined && errorCode(end.error) === LOCK_TIMEOUT) {
      acquirer.avoid(queue);
      const restMs = limitMs - (performance.now() - sentAt);
      return await run(parts, { ...work, brief: undefined, limitMs: Math.max(restMs, 1) });
    }
    // The app has left this node, which could not forward the call, so the call had no effect.
    const isForwardable = isUnconnected(end.error) || isMisrouted(end.error);
    if (coordinator !== undefined && isForwardable && !end.isAsked) {
      const restMs = limitMs - (performance.now() - sentAt);
      return await run(throughCoordinator(parts), { ...work, limitMs: Math.max(restMs, 1) });
    }
    const isHandedOver = nodes?.find(queue) !== undefined;
    const failure = { retry, ...end, isHandedOver, isEarly: isEarly(startedAt, work) };
    // A caller that has already waited this long gets the error instead of another wait. But after a move of its app, or
    // the distribution of the database, the other node responds immediately.
    const isMoved = isMisrouted(end.error) || isOutdated(end.error);
    const isPatient = performance.now() - askedAt < ACQUIRE_LIMIT_MS || isMoved;
    if (attempt >= work.attempts || !isPatient || !isWorthAnother(failure, attempt))
      throw toDatabaseError(end.error, failure);
    await Bun.sleep(Math.random() * PAUSE_MS * attempt);
  }
}

/** Whether the next attempt can share a connection. */
export function isBriefNow({ acquirer }: RunParts, { brief, call }: Work): boolean {
  return brief !== undefined && acquirer.mayShare(call.queue);
}

/** Sends the statement, or its text for a shared connection. */
async function send(
  { acquirer, ticker, onMismatch }: RunParts,
  { statement, call: { caller }, limitMs }: Work,
  { connection, shared }: { connection: Connection; shared: string | undefined },
): Promise<StatementEnd> {
  const mayCancel = () => acquirer.mayCancel(connection);
  const limits = { limitMs, caller, ticker, mayCancel };
  if (shared === undefined) return await runStatement(connection, statement, limits);
  const echo = makeEcho();
  const parameters = [...(statement.parameters ?? []), echo];
  const end = await runStatement(connection, { ...statement, text: shared, parameters }, limits);
  if (!("rows" in end) || hasEcho(end.rows, echo)) return end;
  // All results of this connection can belong to others.
  connection.end();
  onMismatch?.();
  return { error: lost(), isTimedOut: false, isAsked: false, isSuspect: true };
}

/** The connection; `undefined` if the node is unavailable, and the coordinator may serve the call. */
async function orElse(
  pending: Promise<Connection>,
  { acquirer, coordinator }: RunParts,
): Promise<Connection | undefined> {
  if (coordinator === undefined) return await pending;
  return await pending.catch((error: unknown) => {
    if (!(error instanceof Problem)) throw error;
    // Without a connection, the caller can have waited for as long as an attempt to connect lasts.
    if (error.code === "unavailable" || acquirer.stats().open === 0) return undefined;
    throw error;
  });
}

function throughCoordinator({ coordinator, ...parts }: RunParts): RunParts {
  return coordinator === undefined ? parts : { ...parts, acquirer: coordinator };
}

/** Returns whether a statement failed before its limit: then neither the service nor the server's own limit canceled it. */
function isEarly(startedAt: number, { limitMs }: Work): boolean {
  return performance.now() - startedAt < limitMs;
}
