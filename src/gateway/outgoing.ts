/**
 * Sends requests to another process. Bun sends a limited number of concurrent requests and lets the others wait, first come
 * first served, so one app could stop all others. So this process stays far below that limit: it admits requests in a fair
 * queue per app, and counts event streams and long bodies by app, key and in total. @see ../std/network.ts
 *
 * @module
 */
import { ACQUIRE_LIMIT_MS, tooBusy } from "../db/mod.ts";
import { acceptsEventStream, type CountStream, type StreamOwners } from "../http/mod.ts";
import { type Lane, makeFairQueue } from "../std/fair_queue.ts";

/** Max size of a response that is buffered. */
const SHORT_BYTES = 65_536;

export type OutgoingLimits = {
  /** Max requests without a response, in total and per queue. */
  requests: number;
  share: number;
  /** Max waiting requests, in total and per queue, and how long they wait. */
  waiting: number;
  waitingPerQueue: number;
  waitMs: number;
};

/** One app can have as many requests in the service behind as that service lets wait for connections. */
export const OUTGOING_LIMITS: OutgoingLimits = {
  requests: 1024,
  share: 128,
  waiting: 1024,
  waitingPerQueue: 256,
  waitMs: ACQUIRE_LIMIT_MS,
};

export type Caller = {
  /** The app, or the address of a visitor. */
  queue: string;
  /** The person, or whether the visitor has a session: one lane never uses up its queue. */
  lane?: Lane | undefined;
  owners: StreamOwners;
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
};

/** A response, and a function to call when its body has ended. */
export type Outgoing = { response: Response; finish: () => void };

/**
 * The response to a request; waits for its turn.
 *
 * @throws {Problem} rate_limited; overloaded
 */
export type SendOut = (
  caller: Caller,
  accept: string | null,
  send: () => Promise<Response>,
) => Promise<Outgoing>;

type Waiter = { start: () => void };

export function makeSendOut(limits: OutgoingLimits, countStream: CountStream): SendOut {
  const queues = makeFairQueue<Waiter>({
    connections: limits.requests,
    share: limits.share,
    perQueue: limits.waitingPerQueue,
    total: limits.waiting,
  });
  const finish = ({ queue, lane }: Caller): void => {
    queues.finish(queue, lane);
    queues.next()?.start();
  };
  const enter = async ({ queue, lane, owners, signal }: Caller): Promise<void> => {
    if (queues.mayStart(queue, lane) && queues.running() < limits.requests)
      return queues.start(queue, lane);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { start: resolve };
    const reason = queues.join(queue, waiter, lane);
    // Only what accepts a key documents 429.
    if (reason !== undefined) throw tooBusy(owners.visitor === undefined ? reason : "full");
    const leave = (): void => {
      queues.leave(queue, waiter);
      reject(tooBusy("waited"));
    };
    const timer = setTimeout(leave, limits.waitMs);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    }
  };
  const admit = async (caller: Caller, send: () => Promise<Response>): Promise<Response> => {
    await enter(caller);
    try {
      return await send();
    } finally {
      finish(caller);
    }
  };
  return async (caller, accept, send) => {
    // Counted before it is sent: only the response shows whether it is an event stream.
    let release = acceptsEventStream(accept) ? countStream(caller.owners) : undefined;
    try {
      const response = await admit(caller, send);
      if (isShort(response)) release?.();
      else release ??= await countBody(response, () => countStream(caller.owners));
      return { response, finish: release ?? (() => undefined) };
    } catch (error) {
      release?.();
      throw error;
    }
  };
}

/** Whether the whole response is buffered. */
export function isShort({ body, headers }: Response): boolean {
  const announced = headers.get("content-length");
  return body === null || (announced !== null && Number(announced) <= SHORT_BYTES);
}

/** A slow reader of a long body holds one of the requests that this process can send. */
async function countBody(response: Response, count: () => () => void): Promise<() => void> {
  try {
    return count();
  } catch (error) {
    await response.body?.cancel();
    throw error;
  }
}

/** Passes a body on. If the other process breaks off, the caller's connection breaks too, so that the caller detects it. */
export function passOn(
  stream: ReadableStream<Uint8Array>,
  finish: () => void,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch {
        controller.error(); // no reason: the server would log it, and the caller never gets it
      }
      finish();
    },
    cancel: () => {
      finish();
      return reader.cancel();
    },
  });
}
