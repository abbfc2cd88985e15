/** Reads server-sent events, and connects again after their stream has ended. Knows neither tables nor keys. @module */

import { link, sleep } from "./deadline.ts";

/** An event as its server sent it. */
export type StreamEvent = {
  readonly id: string | undefined;
  readonly type: string | undefined;
  readonly data: string;
};

/** A response that lasts and is not a stream. */
export type StreamRejection = { readonly response: Response; readonly text: string };

type Sent = Readonly<Record<string, string>> | undefined;

type Stream = {
  readonly url: string;
  /** The headers of each connection; `undefined`: try again later. What it throws ends the stream. */
  readonly toHeaders: () => Sent | Promise<Sent>;
  /** The id of the last event that the caller knows. */
  readonly since?: string | undefined;
  readonly signal: AbortSignal;
  readonly onEvent: (event: StreamEvent) => void;
  /** The stream has ended, or its server cannot be reached. Events that follow are of a new stream. */
  readonly onEnd: () => void;
};

/** Longer than the intervals of heartbeats. */
export const SILENCE_MS = 40_000;
const RETRY_MS = 2_000;
const EVENT = /^(?:id: (.*)\n)?(?:event: (.*)\n)?data: (.*)$/;

/** Reads events until `signal` aborts, or until the server rejects the stream. @throws what `toHeaders` throws */
export async function followStream(stream: Stream): Promise<StreamRejection | undefined> {
  const { signal, onEvent, onEnd } = stream;
  let { since } = stream;
  while (!signal.aborted) {
    const rejection = await readStream({
      ...stream,
      since,
      onEvent: (event) => {
        since = event.id;
        onEvent(event);
      },
    });
    if (signal.aborted) break;
    if (rejection !== undefined) return rejection;
    onEnd();
    await sleep(RETRY_MS * (0.5 + Math.random()), signal).catch(() => undefined);
  }
  return undefined;
}

/** Reads a stream to its end. Without `AbortSignal.any`: `signal` can outlive many streams. */
async function readStream({
  url,
  toHeaders,
  since,
  signal,
  onEvent,
}: Omit<Stream, "onEnd">): Promise<StreamRejection | undefined> {
  const headers = await toHeaders();
  if (headers === undefined || signal.aborted) return undefined;
  const { controller, release } = link(signal);
  const end = (): void => controller.abort();
  let timer = setTimeout(end, SILENCE_MS);
  try {
    const response = await fetch(url, {
      headers: {
        ...headers,
        accept: "text/event-stream",
        ...(since === undefined ? {} : { "last-event-id": since }),
      },
      signal: controller.signal,
      redirect: "manual",
    });
    const { status, body } = response;
    if (body === null || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
      const isTemporary = status === 429 || (status >= 500 && status !== 501);
      return isTemporary ? undefined : { response, text: await response.text() };
    }
    let text = "";
    for (const reader = body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      clearTimeout(timer);
      timer = setTimeout(end, SILENCE_MS);
      const blocks = (text + value).split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const [, id, type, data] = EVENT.exec(block) ?? [];
        if (data !== undefined) onEvent({ id, type, data });
      }
    }
  } catch {
    return undefined; // unreachable or interrupted
  } finally {
    clearTimeout(timer);
    release();
    end();
  }
}
