/** The parts of PostgreSQL's protocol that a proxy needs: the end of a message, and the statement that a message runs. @module */

export type Sender = "client" | "server";

const LENGTH_BYTES = 4;

/** Splits a sender's bytes into whole messages. A client's first message, the startup message, has no type. */
export function makeSplitter(sender: Sender): (bytes: Buffer) => Buffer[] {
  let rest = Buffer.alloc(0);
  let typeBytes = sender === "client" ? 0 : 1;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const messages: Buffer[] = [];
    while (rest.length >= typeBytes + LENGTH_BYTES) {
      const end = typeBytes + rest.readUInt32BE(typeBytes);
      if (rest.length < end) break;
      messages.push(rest.subarray(0, end));
      rest = rest.subarray(end);
      typeBytes = 1;
    }
    return messages;
  };
}

export type Parts = { type: string; body: Buffer };

/** Splits a message into the letter of its type and its body. `hasType` is false for a client's first message. */
export function splitMessage(message: Buffer, hasType: boolean): Parts {
  if (!hasType) return { type: "", body: message.subarray(LENGTH_BYTES) };
  return {
    type: String.fromCharCode(message.readUInt8(0)),
    body: message.subarray(1 + LENGTH_BYTES),
  };
}

/** Returns a message of this type, with its length. */
export function makeMessage(type: string, body: Uint8Array): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(LENGTH_BYTES + body.length);
  return Buffer.concat([Buffer.from(type, "latin1"), length, body]);
}

/** Reads a client's messages in order. For each message, returns the text of the statement that it runs, if any. */
export function makeStatementReader(): (message: Parts) => string | undefined {
  const texts = new Map<string, string>();
  return ({ type, body }) => {
    const [first = "", second = ""] = body.toString("latin1").split("\0", 2);
    if (type === "P") texts.set(first, second);
    if (type === "B") return texts.get(second) ?? "";
    return type === "Q" ? first : undefined;
  };
}

/** Returns the values in the body of a row, each with its length. */
export function splitRow(body: Buffer): Buffer[] {
  const values: Buffer[] = [];
  for (let at = 2; at < body.length; ) {
    const end = at + LENGTH_BYTES + Math.max(body.readInt32BE(at), 0);
    values.push(body.subarray(at, end));
    at = end;
  }
  return values;
}

/** Returns the message of a row with these values. */
export function makeRow(values: readonly Buffer[]): Buffer {
  return makeMessage("D", Buffer.concat([Buffer.from([0, values.length]), ...values]));
}
