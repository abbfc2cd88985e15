/** Reads a stream of server-sent events. @module */

export type StreamEvent = { id: string; kind: string; data: unknown };

export type EventReader = AsyncDisposable & {
  readonly response: Response;
  /** The next event; `undefined` at the end of the stream. */
  readonly next: () => Promise<StreamEvent | undefined>;
  readonly close: () => Promise<void>;
};

type EventsRequest = {
  /** Omitted if the request has cookies, which are passed as headers. */
  key?: string;
  since?: string | undefined;
  headers?: Readonly<Record<string, string>>;
};

/** Requests a stream. If the server rejects the request, `response` has the rejection. */
export async function openEvents(
  url: string,
  { key, since, headers = {} }: EventsRequest,
): Promise<EventReader> {
  const abort = new AbortController();
  const response = await fetch(url, {
    headers: {
      ...headers,
      accept: "text/event-stream",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(since === undefined ? {} : { "last-event-id": since }),
    },
    signal: abort.signal,
  });
  const isStream = response.headers.get("content-type") === "text/event-stream";
  const reader = isStream ? response.body?.getReader() : undefined;
  const decoder = new TextDecoder();
  let text = "";
  const next = async (): Promise<StreamEvent | undefined> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end !== -1) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        if (!block.startsWith(":")) return toEvent(block);
        continue;
      }
      const { done = true, value } = (await reader?.read()) ?? {};
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  };
  const close = async () => {
    abort.abort();
    await reader?.closed.catch(() => undefined);
  };
  return { response, next, close, [Symbol.asyncDispose]: close };
}

/** Returns the next event that fulfills a condition. @throws {Error} the stream ended before */
export async function until(
  events: EventReader,
  isWanted: (event: StreamEvent) => boolean,
): Promise<StreamEvent> {
  for (;;) {
    const event = await events.next();
    if (event === undefined) throw new Error("The stream ended");
    if (isWanted(event)) return event;
  }
}

/** Returns a test of whether an event's data contains a text. */
export const names = (text: string) => (event: StreamEvent) =>
  JSON.stringify(event.data).includes(text);

function toEvent(block: string): StreamEvent {
  const fields = new Map(
    block.split("\n").map((line) => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon), line.slice(colon + 2)];
    }),
  );
  const { id = "", event = "", data = "null" } = Object.fromEntries(fields);
  return { id, kind: event, data: JSON.parse(data) };
}
