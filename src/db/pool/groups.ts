/**
 * Groups: writes of several callers as one statement with one commit, the only exception to "one request, one statement".
 * Calls with the same key are gathered during one turn of the event loop, and while two of their statements are in
 * progress. They wait like all other calls, in their app's queue. The statement returns a result for each call.
 *
 * If the statement had no effect, each call is sent individually. If its outcome is unknown, none is sent again, except calls
 * that can run twice. A caller that disconnects does not cancel the statement of the others.
 *
 * @module
 */
import { Problem } from "../../problem.ts";
import {
  type Failure,
  isRolledBack,
  isWorthAnother,
  readSqlState,
  toDatabaseError,
} from "../sqlstate.ts";
import type { Touched } from "./affinity.ts";
import type { Connection, Parameter } from "./connection.ts";
import { isBriefNow, type RunParts, run, type Work } from "./run.ts";
import { runStatement, type StatementEnd } from "./statement.ts";

type Bytes = Uint8Array<ArrayBuffer>;
type RawRow = [value?: Bytes | null];

/** A row to write, with the claim of its idempotency key. */
export type GroupRow = {
  readonly id: string;
  readonly body: string;
  readonly claim: Uint8Array | null;
};

export type Grouping = {
  /** The calls of a group have the same key, which identifies an app, a proof and a function. */
  readonly key: string;
  readonly row: GroupRow;
  /** The approximate size of the row. */
  readonly bytes: number;
  /** What the statement for a group leaves in its session. */
  readonly touched: readonly Touched[];
  /** The statement for the rows of a group, in the order of their ids. */
  readonly toCall: (rows: readonly GroupRow[]) => {
    text: string;
    parameters: readonly Parameter[];
  };
  /** The result of each row, or the error; `undefined` if the response does not match the rows. */
  readonly readLines: (
    response: Bytes,
    rows: readonly GroupRow[],
  ) => readonly (Bytes | Error)[] | undefined;
};

type GroupedWork = Work & { grouping: Grouping };

/** Limits of a group, so that it delays the requests of other apps by only a few milliseconds. */
const MAX_GROUP_ROWS = 32;
const MAX_BYTES = 262_144;
/** Max statements in progress per key. With only 1, slow commits would halve the throughput of a few clients. */
const MAX_STATEMENTS = 2;
/** Max time that calls wait for a slow statement of their key. */
const PATIENCE_MS = 100;
/** How long to send calls individually after a group had no effect, for example because it waited for a lock. */
const AVOID_MS = 5000;

type Gathering = {
  /** The waiting calls of a key. */
  readonly members: Set<Member>;
  statements: number;
  /** Whether a statement waits for the end of the turn. */
  isGathering: boolean;
};

type Member = {
  readonly work: GroupedWork;
  readonly end: PromiseWithResolvers<Bytes | null>;
  readonly mayStart: () => boolean;
  readonly start: () => void;
  /** Leaves the queue. */
  leave: () => void;
};

export type GroupOptions = {
  /** Called when a result did not match its request, which must never happen. */
  onMismatch?: (() => void) | undefined;
  /** Called with the first error of each kind that no caller can cause. The calls of its group are sent individually. */
  onGroupBug?: ((error: unknown) => void) | undefined;
};

export class Groups {
  readonly #parts: RunParts;
  readonly #options: GroupOptions;
  readonly #gatherings = new Map<string, Gathering>();
  readonly #avoided = new Set<string>();
  readonly #reported = new Set<string | undefined>();

  constructor(parts: RunParts, options: GroupOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** The call's own result. @throws {Error} see `toDatabaseError` */
  async send(work: GroupedWork): Promise<Bytes | null> {
    const { key } = work.grouping;
    if (this.#avoided.has(key)) return await this.#sendSingle(work);
    const gathering = this.#gatherings.get(key) ?? {
      members: new Set(),
      statements: 0,
      isGathering: false,
    };
    this.#gatherings.set(key, gathering);
    const member = this.#makeMember(work, gathering);
    gathering.members.add(member);
    const { queue, lane, caller } = work.call;
    const isBrief = isBriefNow(this.#parts, work);
    Promise.resolve(this.#parts.acquirer.acquire(queue, { caller, lane, gate: member, isBrief }))
      .then((connection) => this.#lead(gathering, member, connection))
      .catch((error: unknown) => {
        gathering.members.delete(member);
        this.#forgetIfIdle(key, gathering);
        member.end.reject(error);
      });
    return await member.end.promise;
  }

  #makeMember(work: GroupedWork, gathering: Gathering): Member {
    const { key } = work.grouping;
    const member: Member = {
      work,
      end: Promise.withResolvers(),
      mayStart: () =>
        (this.#avoided.has(key) ||
          (!gathering.isGathering && gathering.statements < MAX_STATEMENTS)) &&
        !hasLeft(work),
      start: () => {
        gathering.members.delete(member);
        gathering.statements++;
        gathering.isGathering = true;
      },
      leave: () => undefined,
    };
    return member;
  }

  /** Sends a statement with the calls that have gathered by the end of the turn. */
  async #lead(gathering: Gathering, leader: Member, connection: Connection): Promise<void> {
    const { acquirer, ticker } = this.#parts;
    await new Promise<void>((resolve) => setImmediate(resolve));
    const members = this.#gather(gathering, leader);
    gathering.isGathering = false;
    if (gathering.members.size > 0) acquirer.serve();
    const endsAt = performance.now() + PATIENCE_MS;
    const patience = { tick: (now: number) => (now >= endsAt ? finish() : undefined) };
    let isFinished = false;
    const finish = (): void => {
      if (isFinished) return;
      isFinished = true;
      ticker.remove(patience);
      gathering.statements--;
      if (gathering.members.size > 0) acquirer.serve();
      else this.#forgetIfIdle(leader.work.grouping.key, gathering);
    };
    ticker.add(patience);
    // The connection can end during the turn, before anything is sent.
    const isAlive = connection.isAlive();
    if (!isAlive) acquirer.release(leader.work.call, connection, true);
    if (isAlive && members.length > 1) {
      await this.#sendTogether(members, connection).catch((error: unknown) => {
        for (const { end } of members) end.reject(error);
      });
    } else {
      for (const { work, end } of members)
        end.resolve(this.#sendSingle(work, isAlive ? connection : undefined));
      await Promise.allSettled(members.map(({ end }) => end.promise));
    }
    finish();
  }

  /** Removes the members of a group from their queue: the leader, and other calls up to the limits. */
  #gather({ members }: Gathering, leader: Member): Member[] {
    const group = [leader];
    let bytes = leader.work.grouping.bytes;
    const isAvoided = this.#avoided.has(leader.work.grouping.key);
    for (const member of isAvoided ? [] : members) {
      if (hasLeft(member.work)) continue;
      bytes += member.work.grouping.bytes;
      if (group.length === MAX_GROUP_ROWS || bytes > MAX_BYTES) break;
      members.delete(member);
      member.leave();
      group.push(member);
    }
    return group;
  }

  async #sendSingle(work: Work, connection?: Connection): Promise<Bytes | null> {
    const [row] = await run<RawRow>(this.#parts, work, connection);
    return row?.[0] ?? null;
  }

  async #sendTogether(members: Member[], connection: Connection): Promise<void> {
    const [leader] = members;
    if (leader === undefined) return;
    const { acquirer, ticker } = this.#parts;
    const { statement, call, limitMs, grouping } = leader.work;
    members.sort((a, b) => (a.work.grouping.row.id < b.work.grouping.row.id ? -1 : 1));
    const rows = members.map(({ work }) => work.grouping.row);
    const together = { ...statement, ...grouping.toCall(rows) };
    const sentAt = performance.now();
    const mayCancel = () => acquirer.mayCancel(connection);
    const limits = { limitMs, caller: undefined, ticker, mayCancel };
    const end = await runStatement(connection, together, limits);
    const durationMs = performance.now() - sentAt;
    for (const { work } of members)
      if (work.call.meter !== undefined) work.call.meter.dbMs += durationMs;
    const lines = "rows" in end ? readLines(end.rows, grouping, rows) : undefined;
    const isMismatch = "rows" in end && lines === undefined;
    acquirer.release(
      { ...call, touched: grouping.touched },
      connection,
      end.isSuspect || isMismatch,
    );
    if (isMismatch) this.#options.onMismatch?.();
    if (lines !== undefined) {
      for (const [index, member] of members.entries()) settle(member, lines[index]);
    } else this.#fail(members, end, sentAt);
  }

  /** If the group had no effect, sends every call individually in its remaining time; otherwise only calls that can run twice. */
  #fail(members: readonly Member[], end: StatementEnd, sentAt: number): void {
    const failed = "error" in end ? end : MISMATCH;
    const hadNoEffect = !failed.isAsked && isRolledBack(failed.error);
    if (hadNoEffect) this.#reportBug(failed);
    for (const { work, end } of members) {
      const limitMs = work.limitMs - (performance.now() - sentAt);
      const isEarly = limitMs > 0;
      const failure = { ...failed, retry: work.call.retry, isHandedOver: false, isEarly };
      if (isEarly && (hadNoEffect || isWorthAnother(failure, 1))) {
        this.#avoid(work.grouping.key);
        end.resolve(this.#sendSingle({ ...work, limitMs }));
      } else end.reject(toDatabaseError(failed.error, failure));
    }
  }

  /** Without a report, a broken statement would only make all creates of its table slower. */
  #reportBug({ error, isTimedOut }: Pick<Failure, "error" | "isTimedOut">): void {
    const code = readSqlState(error);
    const failure = { retry: "safe", isTimedOut, isEarly: true, isHandedOver: false } as const;
    // An error that has a meaning becomes another error.
    if (this.#reported.has(code) || toDatabaseError(error, failure) !== error) return;
    this.#reported.add(code);
    this.#options.onGroupBug?.(error);
  }

  #avoid(key: string): void {
    if (this.#avoided.has(key)) return;
    this.#avoided.add(key);
    setTimeout(() => this.#avoided.delete(key), AVOID_MS).unref();
  }

  #forgetIfIdle(key: string, { members, statements }: Gathering): void {
    if (members.size === 0 && statements === 0) this.#gatherings.delete(key);
  }
}

/** Returns whether the caller has disconnected: the acquirer rejects its call at the next tick. */
function hasLeft({ call }: Work): boolean {
  return call.caller?.signal.aborted === true;
}

/** The response does not match the rows, so their outcome is unknown. */
const MISMATCH = {
  error: new Problem("unknown_outcome", { retryAfterS: 1 }),
  isTimedOut: false,
  isAsked: false,
} as const;

function readLines(
  found: readonly unknown[],
  { readLines }: Grouping,
  rows: readonly GroupRow[],
): readonly (Bytes | Error)[] | undefined {
  const [[text] = []] = found as RawRow[];
  try {
    return text instanceof Uint8Array ? readLines(text, rows) : undefined;
  } catch {
    // The response was corrupted in transit.
    return undefined;
  }
}

function settle({ end }: Member, line: Bytes | Error | undefined): void {
  if (line instanceof Uint8Array) end.resolve(line);
  else end.reject(line);
}
