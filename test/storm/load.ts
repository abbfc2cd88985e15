/**
 * Load that keeps books: every call carries a nonce that its response must bring back, every write is remembered as
 * done, not done or unknown, and every response has a moment. The storms read the books afterwards.
 *
 * @module
 */
export type Book = {
  /** Nonces of rows by the response to their create. */
  done: Set<string>;
  notDone: Set<string>;
  unknown: Set<string>;
  /** Responses that belong to other callers. */
  foreign: string[];
  /** Responses that break the contract. */
  odd: string[];
  /** When each response came, and whether it was a success. */
  responses: { at: number; isGood: boolean; ms: number }[];
};

export type Load = { book: Book; stop: () => Promise<void> };

/** Statuses and codes that a caller may see while the database is hurt. */
const HURT = new Set(["unavailable", "overloaded", "timeout", "rate_limited", "unknown_outcome"]);
/** Past every deadline of the service's own: a response that takes longer counts as lost. */
const LOST_MS = 40_000;

/** Where the calls go: a table with a title that is text. */
type Target = { url: string; table?: string };
type Caller = { key: string };

/** Callers who create rows and read them back, until stopped. */
export function startLoad(target: Target, app: Caller, callers: number): Load {
  const book: Book = {
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
    while (isRunning) await turn(target, app, { book, mine });
  });
  return {
    book,
    stop: async () => {
      isRunning = false;
      await Promise.all(workers);
    },
  };
}

type Turn = { book: Book; mine: { id: string; nonce: string }[] };

async function turn(
  { url, table = "todos" }: Target,
  app: Caller,
  { book, mine }: Turn,
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
  book.responses.push({ at, isGood: response.ok, ms: at - startedAt });
  if (response.ok && body.title !== nonce) book.foreign.push(`${nonce} got ${body.title}`);
  if (!response.ok && !HURT.has(body.error ?? ""))
    book.odd.push(`${response.status} ${body.error}`);
  if (isWrite) note(book, nonce, response.ok ? undefined : body.error);
  if (isWrite && response.ok && body.id !== undefined) mine.push({ id: body.id, nonce });
  // Who is rejected at once comes again a little later, as Retry-After asks.
  if (!response.ok) await Bun.sleep(20);
}

function note(book: Book, nonce: string, error: string | undefined): void {
  if (error === undefined) book.done.add(nonce);
  else if (error === "unknown_outcome") book.unknown.add(nonce);
  else book.notDone.add(nonce);
}

/** Successful responses a second between two moments. */
export function rate({ responses }: Book, from: number, to: number): number {
  const good = responses.filter(({ at, isGood }) => isGood && at >= from && at < to);
  return Math.round(good.length / ((to - from) / 1000));
}

/** How long a share of the responses between two moments took at the most, good or not. */
export function latency({ responses }: Book, from: number, to: number, share: number): number {
  const times = responses.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms);
  times.sort((one, other) => one - other);
  return times[Math.floor(times.length * share)] ?? Number.NaN;
}

/** Milliseconds from a moment to the first of ten successes in a row. */
export function recovery({ responses }: Book, from: number): number {
  const later = responses.filter(({ at }) => at >= from);
  const index = later.findIndex((_, start) =>
    later.slice(start, start + 10).every(({ isGood }) => isGood),
  );
  return Math.round((later[index]?.at ?? Number.POSITIVE_INFINITY) - from);
}
