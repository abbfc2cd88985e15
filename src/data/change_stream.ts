/** The events of a table's stream as text. @see https://html.spec.whatwg.org/multipage/server-sent-events.html @module */

/** Changes from the database: the cursor after them, their kind, and the events as JSON. */
export type News = { cursor: string; kind: "ready" | "changes" | "reset"; events: string };

const encoder = new TextEncoder();

export function encodeNews({ cursor, kind, events }: News): Uint8Array {
  return encoder.encode(`id: ${cursor}\nevent: ${kind}\ndata: ${events}\n\n`);
}
