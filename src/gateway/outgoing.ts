/**
 * Sends requests to another process. Bun sends a limited number of concurrent requests and lets the others wait, first come
 * first served, so one app could stop all others. So this process stays far below that limit: it admits requests in a fair
 * queue per app, and counts event streams and long bodies by app, key and in total. @see ../std/network.ts
 *
 * @module
 */
import { ACQUIRE_LIMIT_MS, makeTurns, type TurnCaller, type TurnLimits } from "../db/mod.ts";
import { acceptsEventStream, type CountStream, type StreamOwners } from "../http/mod.ts";

/** Max size of a response that is buffered. */
const SHORT_BYTES = 65_536;

/** One app can have as many requests in the service behind as that service lets wait for connections. */
export const OUTGOING_LIMITS: TurnLimits = {
  running: 1024,
  share: 128,
  waiting: 1024,
  waitingPerQueue: 256,
  waitMs: ACQUIRE_LIMIT_MS,
};

export type Caller = TurnCaller & { owners: StreamOwners };

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

export function makeSendOut(limits: TurnLimits, countStream: CountStream): SendOut {
  const takeTurn = makeTurns(limits);
  return async (caller, accept, send) => {
    // Counted before it is sent: only the response shows whether it is an event stream.
    let release = acceptsEventStream(accept) ? countStream(caller.owners) : undefined;
    try {
      // Only what accepts a key documents 429.
      const isNamed = caller.owners.visitor === undefined;
      const response = await takeTurn({ ...caller, isNamed }, send);
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
