/** Forwards watched pages from an app's server to a browser, which has no API key. @module */

/** A comment, which an `EventSource` ignores. */
const COMMENT = new TextEncoder().encode(": \n\n");
/** `Bun.serve` and some platforms close a connection that is silent for 10 seconds, some of their timers earlier. */
const HEARTBEAT_MS = 5_000;
/** A proxy or middleware must neither store the stream nor collect its events: nginx buffers, and others compress. */
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};
const NEVER = new AbortController().signal;

/**
 * A response for a browser's `EventSource`: each value of a watch becomes one event with JSON data. Before the call, check
 * that the browser's user can read the values. The stream begins with a comment, so that the browser learns immediately that
 * it is open. It ends with `signal`, with the watch, or when the browser disconnects.
 *
 * @example
 * ```ts
 * import { relay } from "rowhouse/data";
 *
 * const response = relay(async function* () {
 *   yield { rows: ["first"] };
 * });
 * expect(response.headers.get("content-type")).toBe("text/event-stream");
 * expect(await response.text()).toBe(': \n\ndata: {"rows":["first"]}\n\n');
 * ```
 */
export function relay(
  watch: (signal: AbortSignal) => AsyncIterable<unknown>,
  { signal = NEVER }: { readonly signal?: AbortSignal | undefined } = {},
): Response {
  const left = new AbortController();
  const encoder = new TextEncoder();
  const values = watch(AbortSignal.any([left.signal, signal]))[Symbol.asyncIterator]();
  let beat: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      // Servers send the head of a response with its first bytes.
      controller.enqueue(COMMENT);
      const keepOpen = () => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(COMMENT);
      };
      beat = setInterval(keepOpen, HEARTBEAT_MS);
    },
    // The watch continues after the browser has read the earlier events.
    pull: async (controller) => {
      try {
        const { done, value } = await values.next();
        if (left.signal.aborted) return;
        if (done !== true)
          return controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`));
        clearInterval(beat);
        controller.close();
      } catch (error) {
        clearInterval(beat);
        if (left.signal.aborted) return;
        // An EventSource reconnects after the end.
        if (signal.aborted) controller.close();
        else controller.error(error);
      }
    },
    cancel: async () => {
      clearInterval(beat);
      left.abort();
      await values.return?.();
    },
  });
  return new Response(body, { headers: HEADERS });
}
