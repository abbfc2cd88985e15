/**
 * The sending side of event streams, bounded in memory. A stream holds the event that it is sending and a few unread bytes
 * more; all streams of a process together have a budget. Bytes that several streams hold count once. A stream that exceeds
 * either ends, and its reader resumes by the id of the last complete event.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 * @module
 */

import { MAX_BACKLOG_BYTES, MAX_EVENT_BYTES } from "../std/limits.ts";

/** The runtime copies bytes that it cannot send immediately, so it gets an event in pieces. */
const PIECE_BYTES = 16_384;

export function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type") === "text/event-stream";
}

/** The memory of a process for event streams. */
export type StreamMemory = {
  /** The bytes that the streams hold. */
  readonly bytes: () => number;
  readonly hold: (chunk: Uint8Array) => void;
  readonly drop: (chunk: Uint8Array) => void;
  /** Adds bytes that the runtime holds for one stream; negative after they were sent. */
  readonly addCopied: (bytes: number) => void;
  /** Keeps a stream with unread bytes among those that end when the budget is exceeded. */
  readonly watch: (stream: Ending) => void;
  readonly forget: (stream: Ending) => void;
  /** Ends streams, the ones with the most unread bytes first, until the budget is kept. */
  readonly bound: () => void;
};

type Ending = { readonly unread: () => number; readonly end: () => void };

/** Max bytes that all streams of a process hold. */
const MAX_STREAMED_BYTES = 67_108_864;

export function makeStreamMemory(maxBytes = MAX_STREAMED_BYTES): StreamMemory {
  const holders = new Map<Uint8Array, number>();
  const streams = new Set<Ending>();
  let bytes = 0;
  const findSlowest = (): Ending | undefined => {
    let slowest: { stream: Ending; unread: number } | undefined;
    for (const stream of streams) {
      const unread = stream.unread();
      if (unread > (slowest?.unread ?? 0)) slowest = { stream, unread };
    }
    return slowest?.stream;
  };
  return {
    bytes: () => bytes,
    hold: (chunk) => {
      const count = holders.get(chunk) ?? 0;
      holders.set(chunk, count + 1);
      if (count === 0) bytes += chunk.byteLength;
    },
    drop: (chunk) => {
      const count = holders.get(chunk) ?? 0;
      if (count > 1) return void holders.set(chunk, count - 1);
      if (holders.delete(chunk)) bytes -= chunk.byteLength;
    },
    addCopied: (change) => {
      bytes += change;
    },
    watch: (stream) => void streams.add(stream),
    forget: (stream) => void streams.delete(stream),
    bound: () => {
      while (bytes > maxBytes) {
        const slowest = findSlowest();
        if (slowest === undefined) return;
        slowest.end();
      }
    },
  };
}

export type EventStream = {
  readonly body: ReadableStream<Uint8Array>;
  /** Sends these bytes, without a copy: they must not change. Ends the stream if too much is unread. */
  readonly send: (chunk: Uint8Array) => void;
  /** Sends a comment that keeps the connection open, unless other bytes wait. */
  readonly beat: () => void;
  /** Ends the stream once all its bytes are sent. */
  readonly close: () => void;
  /** Ends the stream. Bytes that were not sent are lost. */
  readonly end: () => void;
};

type EventStreamOptions = {
  /** Ends the stream. */
  signal: AbortSignal;
  /** Called once, however the stream ends. */
  onEnd: () => void;
  /** Max unread bytes behind the first unsent chunk. */
  maxBacklog?: number;
};

const HEARTBEAT = new TextEncoder().encode(": \n\n");

export function openEventStream(
  memory: StreamMemory,
  { signal, onEnd, maxBacklog = MAX_BACKLOG_BYTES }: EventStreamOptions,
): EventStream {
  /** The first chunk is being sent. */
  const chunks: Uint8Array[] = [];
  let sent = 0;
  let unread = 0;
  /** Bytes of the last piece, which the runtime may still hold. */
  let copied = 0;
  let isWanted = false;
  let isClosing = false;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const setCopied = (bytes: number): void => {
    memory.addCopied(bytes - copied);
    copied = bytes;
  };
  const ending: Ending = { unread: () => unread + copied, end: () => end() };
  const finish = (): void => {
    controller = undefined;
    signal.removeEventListener("abort", end);
    memory.forget(ending);
    for (const chunk of chunks.splice(0)) memory.drop(chunk);
    setCopied(0);
    unread = 0;
    onEnd();
  };
  const end = (): void => {
    if (controller === undefined) return;
    const closing = controller;
    finish();
    closing.close();
  };
  const sendPiece = (): void => {
    const [chunk] = chunks;
    isWanted = chunk === undefined;
    setCopied(0);
    if (chunk === undefined) {
      memory.forget(ending);
      if (isClosing) end();
      return;
    }
    const piece = chunk.subarray(sent, sent + PIECE_BYTES);
    sent += piece.byteLength;
    unread -= piece.byteLength;
    setCopied(piece.byteLength);
    if (sent === chunk.byteLength) {
      chunks.shift();
      sent = 0;
      memory.drop(chunk);
    }
    controller?.enqueue(piece);
  };
  const send = (chunk: Uint8Array): void => {
    if (controller === undefined || isClosing || chunk.byteLength === 0) return;
    const backlog = unread - (chunks[0] === undefined ? 0 : chunks[0].byteLength - sent);
    if (chunks.length > 0 && backlog + chunk.byteLength > maxBacklog) {
      end();
      return;
    }
    chunks.push(chunk);
    unread += chunk.byteLength;
    memory.hold(chunk);
    memory.watch(ending);
    if (isWanted) sendPiece();
    memory.bound();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (started) => {
        controller = started;
      },
      pull: sendPiece,
      cancel: () => {
        if (controller !== undefined) finish();
      },
    },
    { highWaterMark: 0 },
  );
  signal.addEventListener("abort", end, { once: true });
  // An already aborted signal fires no event.
  if (signal.aborted) end();
  return {
    body,
    send,
    beat: () => void (isWanted && send(HEARTBEAT)),
    close: () => {
      isClosing = true;
      if (isWanted) end();
    },
    end,
  };
}

/** Max unread bytes of a passed-on stream, whose events arrive in parts. */
const MAX_PASSED_ON_BYTES = MAX_EVENT_BYTES + MAX_BACKLOG_BYTES;

/** Passes on the events of another process. Reads them as they arrive, because the runtime would buffer any number of bytes. */
export function pumpEvents(
  events: ReadableStream<Uint8Array>,
  memory: StreamMemory,
  { signal, onEnd }: Pick<EventStreamOptions, "signal" | "onEnd">,
): ReadableStream<Uint8Array> {
  const reader = events.getReader();
  const stream = openEventStream(memory, {
    signal,
    maxBacklog: MAX_PASSED_ON_BYTES,
    onEnd: () => {
      // Completes a pending read.
      reader.cancel().catch(() => undefined);
      onEnd();
    },
  });
  const pump = async (): Promise<void> => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return stream.close();
      stream.send(value);
    }
  };
  // A reader of events resumes after any end, so an interrupted stream simply ends.
  pump().catch(stream.end);
  return stream.body;
}
