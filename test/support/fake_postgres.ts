/**
 * A server that speaks PostgreSQL's protocol without a database. Each statement contains the script of its response: in its
 * first parameter or, without parameters, in its text. For connections without TLS and passwords.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import {
  makeMessage,
  makeRow,
  makeSplitter,
  type Parts,
  splitMessage,
} from "./postgres_protocol.ts";

export type Script = {
  id: number;
  /** The number of rows before the end. */
  rows: number;
  end: End;
  /** The server discards the prepared statement at its second use. */
  isForgotten: boolean;
  /** The number of complete results before this result. Only for a simple query. */
  before: number;
};

/** Sent after the rows of a statement. */
export type End =
  | "complete"
  | "error"
  | "two errors"
  | "cancellation"
  | "end of session"
  | "error, then cut"
  | "completion, then cut"
  | "cut"
  | "reset";

/** Texts of statements, by how the server parses and describes them. */
export const TEXTS = {
  plain: "select",
  other: "select more",
  withoutRows: "insert",
  rejected: "rejected by the parser",
  indescribable: "rejected by the description",
} as const;

export type FakePostgres = { url: string; close: () => Promise<void> };

/** `chunkBytes`: the server sends its bytes in chunks of this size. */
export async function openFakePostgres(chunkBytes: () => number): Promise<FakePostgres> {
  const sessions = new Map<number, Session>();
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    const session = new Session(socket, { sessions, chunkBytes: chunkBytes() });
    sockets.add(socket);
    const split = makeSplitter("client");
    socket
      .setNoDelay(true)
      .on("data", (bytes: Buffer) => session.receive(split(bytes)))
      .on("error", () => socket.destroy())
      .on("close", () => session.end());
    socket.on("close", () => sockets.delete(socket));
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  if (typeof address === "string" || address === null) throw new Error("The server has no port");
  return {
    url: `postgres://tester@127.0.0.1:${address.port}/nothing`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}

const CANCEL_CODE = 80877102;
const READY = makeMessage("Z", Buffer.from("I"));
const NO_ROWS = makeMessage("C", Buffer.from("INSERT 0 1\0"));
const COLUMN = makeMessage(
  "T",
  Buffer.concat([int16(1), Buffer.from("row\0"), int32(0), int16(0), int32(25), Buffer.alloc(8)]),
);

type Prepared = { text: string; types: readonly number[]; uses: number };
type Bound = { text: string; script: Script; values: readonly (string | null)[] };
type SessionOptions = { sessions: Map<number, Session>; chunkBytes: number };

class Session {
  readonly #socket: Socket;
  readonly #sessions: Map<number, Session>;
  readonly #chunkBytes: number;
  readonly #pid: number;
  readonly #prepared = new Map<string, Prepared>();
  readonly #waiting: Parts[] = [];
  #hasStarted = false;
  #isBusy = false;
  #isOver = false;
  /** True after an error, until the client's Sync. */
  #isSkipping = false;
  #bound: Bound | undefined;
  #cancellation = Promise.withResolvers<void>();

  constructor(socket: Socket, { sessions, chunkBytes }: SessionOptions) {
    this.#socket = socket;
    this.#sessions = sessions;
    this.#chunkBytes = chunkBytes;
    this.#pid = sessions.size + 1;
    sessions.set(this.#pid, this);
  }

  receive(messages: readonly Buffer[]): void {
    for (const message of messages) {
      this.#waiting.push(splitMessage(message, this.#hasStarted));
      this.#hasStarted = true;
    }
    void this.#work();
  }

  end(): void {
    this.#isOver = true;
    this.cancel();
  }

  cancel(): void {
    this.#cancellation.resolve();
  }

  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let parts = this.#waiting.shift(); parts !== undefined; parts = this.#waiting.shift())
      if (!this.#isOver) await this.#handle(parts);
    this.#isBusy = false;
  }

  async #handle({ type, body }: Parts): Promise<void> {
    if (type === "") return await this.#start(body);
    if (type === "S") {
      this.#isSkipping = false;
      return await this.#send(READY);
    }
    if (this.#isSkipping) return;
    if (type === "P") return await this.#parse(body);
    if (type === "D") return await this.#describe(body);
    if (type === "B") return await this.#bind(body);
    if (type === "E") return await this.#execute();
    if (type === "Q") return await this.#query(body);
    if (type === "X") this.#socket.end();
  }

  async #start(body: Buffer): Promise<void> {
    if (body.readInt32BE(0) === CANCEL_CODE) {
      this.#sessions.get(body.readInt32BE(4))?.cancel();
      this.#socket.end();
      return;
    }
    const key = makeMessage("K", Buffer.concat([int32(this.#pid), int32(0)]));
    await this.#send(makeMessage("R", int32(0)), key, READY);
  }

  async #parse(body: Buffer): Promise<void> {
    const [name = "", text = ""] = body.toString().split("\0", 2);
    if (text === TEXTS.rejected) return await this.#fail("42601");
    const at = Buffer.byteLength(`${name}${text}`) + 2;
    const types = Array.from({ length: body.readInt16BE(at) }, (_, index) =>
      body.readInt32BE(at + 2 + index * 4),
    );
    this.#prepared.set(name, { text, types, uses: 0 });
    await this.#send(makeMessage("1", Buffer.alloc(0)));
  }

  async #describe(body: Buffer): Promise<void> {
    const { text = "", types = [] } = this.#prepared.get(readName(body.subarray(1))) ?? {};
    const known = types.map((type) => int32(type || 25));
    await this.#send(makeMessage("t", Buffer.concat([int16(known.length), ...known])));
    if (text === TEXTS.indescribable) return await this.#fail("57014");
    await this.#send(text === TEXTS.withoutRows ? makeMessage("n", Buffer.alloc(0)) : COLUMN);
  }

  async #bind(body: Buffer): Promise<void> {
    const name = readName(body.subarray(1));
    const prepared = this.#prepared.get(name);
    if (prepared === undefined) return await this.#fail("26000", FORGOTTEN);
    const values = readValues(body.subarray(name.length + 4));
    const [json = prepared.text] = values;
    const script = JSON.parse(json ?? "") as Script;
    if (script.isForgotten && prepared.uses > 0) {
      this.#prepared.delete(name);
      return await this.#fail("26000", FORGOTTEN);
    }
    prepared.uses++;
    this.#bound = { text: prepared.text, script, values };
    await this.#send(makeMessage("2", Buffer.alloc(0)));
  }

  async #execute(): Promise<void> {
    if (this.#bound === undefined) throw new Error("Nothing is bound");
    await this.#run(this.#bound);
  }

  /** Responds to a simple query: complete results, then the scripted result. */
  async #query(body: Buffer): Promise<void> {
    const text = readName(body);
    const script = text === "select 1" ? OPENING : (JSON.parse(text) as Script);
    const bound = { text, script, values: [] };
    for (let count = 0; count < script.before; count++) {
      await this.#send(COLUMN);
      await this.#run({ ...bound, script: { ...script, end: "complete" } });
    }
    await this.#send(COLUMN);
    await this.#run(bound);
    this.#isSkipping = false;
    await this.#send(READY);
  }

  async #run({ text, script, values }: Bound): Promise<void> {
    const { id, rows } = script;
    const hasRows = text !== TEXTS.withoutRows;
    for (let position = 0; hasRows && position < rows; position++)
      await this.#send(makeRow([toField(toRow({ id, position, values: values.slice(1) }))]));
    const complete = hasRows ? makeMessage("C", Buffer.from(`SELECT ${rows}\0`)) : NO_ROWS;
    await this.#ends[script.end](complete);
  }

  readonly #ends: Readonly<Record<End, (complete: Buffer) => Promise<void>>> = {
    complete: (complete) => this.#send(complete),
    error: () => this.#fail("22012"),
    "two errors": async () => {
      await this.#fail("22012");
      await this.#fail("08P01");
    },
    cancellation: async () => {
      await this.#cancellation.promise;
      this.#cancellation = Promise.withResolvers();
      await this.#fail("57014");
    },
    "end of session": async () => {
      await this.#fail("57P01", { severity: "FATAL" });
      this.#cut();
    },
    "error, then cut": async () => {
      await this.#fail("53200");
      this.#cut();
    },
    "completion, then cut": async (complete) => {
      await this.#send(complete);
      this.#cut();
    },
    cut: async () => this.#cut(),
    reset: async () => {
      this.end();
      this.#socket.resetAndDestroy();
    },
  };

  #cut(): void {
    this.end();
    this.#socket.destroySoon();
  }

  async #fail(code: string, { severity = "ERROR", routine = "none" } = {}): Promise<void> {
    this.#isSkipping = true;
    const text = `S${severity}\0V${severity}\0C${code}\0Mno\0R${routine}\0\0`;
    await this.#send(makeMessage("E", Buffer.from(text)));
  }

  async #send(...messages: readonly Buffer[]): Promise<void> {
    const bytes = Buffer.concat(messages);
    for (let at = 0; at < bytes.length && !this.#isOver; at += this.#chunkBytes) {
      this.#socket.write(bytes.subarray(at, at + this.#chunkBytes));
      if (bytes.length > this.#chunkBytes) await Bun.sleep(0);
    }
  }
}

/** The driver sends a statement again after an error of this routine. */
const FORGOTTEN = { routine: "FetchPreparedStatement" };
/** The script of a connection's first statement. */
const OPENING: Script = { id: 0, rows: 1, end: "complete", isForgotten: false, before: 0 };

type Row = { id: number; position: number; values: readonly (string | null)[] };

/** Renders the only value of a row: the id of its statement and the parameters that the server received. */
export function toRow({ id, position, values }: Row): string {
  return JSON.stringify([id, position, ...values]);
}

function toField(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([int32(bytes.length), bytes]);
}

/** Reads the text up to the first zero byte. */
function readName(body: Buffer): string {
  return body.toString("utf8", 0, body.indexOf(0));
}

/** Reads the values of a Bind, whose formats are all text. */
function readValues(body: Buffer): (string | null)[] {
  const values: (string | null)[] = [];
  for (let at = 2; values.length < body.readInt16BE(0); ) {
    const length = body.readInt32BE(at);
    const start = at + 4;
    at = start + Math.max(length, 0);
    values.push(length < 0 ? null : body.toString("utf8", start, at));
  }
  return values;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
