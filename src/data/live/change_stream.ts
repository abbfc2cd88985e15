/** The events of a table's stream as text. @see https://html.spec.whatwg.org/multipage/server-sent-events.html @module */

/** Changes from the database: the position after them, their kind, and the events as JSON. */
export type News = { position: string; kind: "ready" | "changes" | "reset"; events: string };

const encoder = new TextEncoder();

export function encodeNews({ kind, events }: News, cursor: string): Uint8Array {
  return encoder.encode(`id: ${cursor}\nevent: ${kind}\ndata: ${events}\n\n`);
}
