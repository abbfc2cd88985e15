/**
 * Load with a record: the response to each call must contain the call's nonce. The record has each write as done, not done or
 * unknown, and the time of each response. The chaos tests check the record afterwards.
 *
 * @module
 */
export type LoadRecord = {
  /** Nonces of rows, by the response to their create. */
  done: Set<string>;
  notDone: Set<string>;
  unknown: Set<string>;
  /** Responses that belong to other callers. */
  foreign: string[];
  /** Responses that break the contract. */
  odd: string[];
  /** The time of each response, and whether it was successful. */
  responses: { at: number; isGood: boolean; ms: number }[];
};

export type Load = { record: LoadRecord; stop: () => Promise<void> };

/** Error codes that a caller can get during a failure of the database. */
const FAILURES = new Set([
  "unavailable",
  "overloaded",
  "timeout",
  "rate_limited",
  "unknown_outcome",
]);
/** Longer than every deadline of the service. A later response counts as lost. */
const LOST_MS = 40_000;

/** The called service, and a table with a column `title` of text. */
type Target = { url: string; table?: string };
type Caller = { key: string };

/** Starts callers that create rows and read them again, until stopped. */
export function startLoad(target: Target, app: Caller, callers: number): Load {
  const record: LoadRecord = {
    done: new Set(),
    notDone: new Set(),
    unknown: new Set(),
    foreign: [],
    odd: [],
    responses: [],
  };
  let isRunning = true;
  const workers = Array.from({ length: callers }, async () => {
    const mine: { id: string; nonce: string }[] = [];
    while (isRunning) await turn(target, app, { record, mine });
  });
  return {
    record,
    stop: async () => {
      isRunning = false;
      await Promise.all(workers);
    },
  };
}

type Turn = { record: LoadRecord; mine: { id: string; nonce: string }[] };

async function turn(
  { url, table = "todos" }: Target,
  app: Caller,
  { record, mine }: Turn,
): Promise<void> {
  const known = mine[Math.floor(Math.random() * mine.length)];
  const isWrite = known === undefined || Math.random() < 0.3;
  const nonce = isWrite ? crypto.randomUUID() : known.nonce;
  const startedAt = performance.now();
  const response = await fetch(`${url}/v1/data/db/${table}${isWrite ? "" : `/${known.id}`}`, {
    method: isWrite ? "POST" : "GET",
    headers: { authorization: `Bearer ${app.key}`, "content-type": "application/json" },
    signal: AbortSignal.timeout(LOST_MS),
    ...(isWrite ? { body: JSON.stringify({ title: nonce }) } : {}),
  });
  const body = (await response.json()) as { id?: string; title?: string; error?: string };
  const at = performance.now();
  record.responses.push({ at, isGood: response.ok, ms: at - startedAt });
  if (response.ok && body.title !== nonce) record.foreign.push(`${nonce} got ${body.title}`);
  if (!response.ok && !FAILURES.has(body.error ?? ""))
    record.odd.push(`${response.status} ${body.error}`);
  if (isWrite) recordWrite(record, nonce, response.ok ? undefined : body.error);
  if (isWrite && response.ok && body.id !== undefined) mine.push({ id: body.id, nonce });
  // Rejected callers pause, as Retry-After asks.
  if (!response.ok) await Bun.sleep(20);
}

function recordWrite(record: LoadRecord, nonce: string, error: string | undefined): void {
  if (error === undefined) record.done.add(nonce);
  else if (error === "unknown_outcome") record.unknown.add(nonce);
  else record.notDone.add(nonce);
}

/** Returns the successful responses per second between two times. */
export function rate({ responses }: LoadRecord, from: number, to: number): number {
  const good = responses.filter(({ at, isGood }) => isGood && at >= from && at < to);
  return Math.round(good.length / ((to - from) / 1000));
}

/** Returns the maximum duration of this share of the responses between two times, successful or not. */
export function latency(
  { responses }: LoadRecord,
  from: number,
  to: number,
  share: number,
): number {
  const times = responses.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms);
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * share)] ?? Number.NaN;
}

/** Returns the milliseconds from a time to the first of ten consecutive successes. */
export function recovery({ responses }: LoadRecord, from: number): number {
  const later = responses.filter(({ at }) => at >= from);
  const index = later.findIndex((_, start) =>
    later.slice(start, start + 10).every(({ isGood }) => isGood),
  );
  return Math.round((later[index]?.at ?? Number.POSITIVE_INFINITY) - from);
}
