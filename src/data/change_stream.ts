/** One subscriber's event stream. @see https://html.spec.whatwg.org/multipage/server-sent-events.html @module */
import { EVENT_STREAM_HEADERS } from "../http/mod.ts";

/** Changes from the database: the cursor after them, their kind, and the events as JSON. */
export type News = { cursor: string; kind: "ready" | "changes" | "reset"; events: string };

export type ChangeStream = {
  readonly response: Response;
  /** Sends these bytes. Ends the stream if it has too many unread bytes; the reader resumes from the last id. */
  readonly send: (chunk: Uint8Array) => void;
  readonly end: () => void;
};

/** Max queued bytes for a slow reader. */
const MAX_UNREAD_BYTES = 1_048_576;

const encoder = new TextEncoder();

/** A comment line that keeps the connection open. */
export const HEARTBEAT = encoder.encode(": \n\n");

export function encodeNews({ cursor, kind, events }: News): Uint8Array {
  return encoder.encode(`id: ${cursor}\nevent: ${kind}\ndata: ${events}\n\n`);
}

/** A stream with its first event sent. `onEnd` runs once, however the stream ends. */
export function makeChangeStream(
  first: Uint8Array,
  { signal }: Request,
  onEnd: () => void,
): ChangeStream {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const finish = (): void => {
    signal.removeEventListener("abort", end);
    controller = undefined;
    onEnd();
  };
  const end = (): void => {
    if (controller === undefined) return;
    const ending = controller;
    finish();
    ending.close();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (started) => {
        controller = started;
        started.enqueue(first);
      },
      cancel: () => {
        if (controller !== undefined) finish();
      },
    },
    { highWaterMark: MAX_UNREAD_BYTES, size: (chunk) => chunk?.byteLength ?? 0 },
  );
  signal.addEventListener("abort", end, { once: true });
  // An already aborted signal fires no event.
  if (signal.aborted) end();
  return {
    response: new Response(body, { headers: EVENT_STREAM_HEADERS }),
    send: (chunk) => {
      if ((controller?.desiredSize ?? 0) < 0) end();
      else controller?.enqueue(chunk);
    },
    end,
  };
}
