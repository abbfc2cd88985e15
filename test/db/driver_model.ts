/**
 * Random sequences of statements on one connection after another, against a server that responds by script. A statement gets
 * exactly what was sent for it, or an error of its own; nothing of another statement.
 *
 * @module
 */
import * as fc from "fast-check";
import { type Connection, openConnection, type Parameter } from "../../src/db/pool/connection.ts";
import { errorCode } from "../../src/std/error_code.ts";
import {
  type End,
  type FakePostgres,
  openFakePostgres,
  type Script,
  TEXTS,
  toRow,
} from "../support/fake_postgres.ts";

type Planned = {
  script: Omit<Script, "id">;
  kind: "message" | keyof typeof TEXTS;
  values: readonly Parameter[];
  prepare: boolean;
  isRaw: boolean;
  /** A statement that waits for its cancellation is canceled before it is sent, or after. */
  isCanceledFirst: boolean;
};

type Sequence = {
  isPipelined: boolean;
  prepare: boolean;
  chunkBytes: number;
  /** Statements of one batch are sent together, those of the next one when all of them have ended. */
  batches: readonly (readonly Planned[])[];
};

const WHOLE = 1 << 20;
const UNSENDABLE = new Date(Number.NaN);

const often = fc.constantFrom(true, true, true, true, false);

const end = fc.oneof(
  { weight: 16, arbitrary: fc.constant<End>("complete") },
  { weight: 8, arbitrary: fc.constantFrom<End>("error", "two errors", "cancellation") },
  {
    weight: 2,
    arbitrary: fc.constantFrom<End>(
      "end of session",
      "error, then cut",
      "completion, then cut",
      "cut",
      "reset",
    ),
  },
);

const value: fc.Arbitrary<Parameter> = fc.oneof(
  { weight: 30, arbitrary: fc.string({ unit: "grapheme", maxLength: 5 }).map(dropZeros) },
  { weight: 10, arbitrary: fc.constant(null) },
  { weight: 20, arbitrary: fc.boolean() },
  { weight: 20, arbitrary: fc.uint8Array({ maxLength: 5 }) },
  { weight: 10, arbitrary: fc.tuple(fc.stringMatching(/^[a-z]*$/)) },
  { weight: 3, arbitrary: fc.constant(UNSENDABLE) },
);

function dropZeros(text: string): string {
  return text.replaceAll("\0", "");
}

const planned: fc.Arbitrary<Planned> = fc.record({
  script: fc.record({
    rows: fc.nat(3),
    end,
    isForgotten: fc.boolean(),
    before: fc.nat(2),
  }),
  kind: fc.constantFrom(
    "message",
    "plain",
    "plain",
    "plain",
    "other",
    "withoutRows",
    "rejected",
    "indescribable",
  ),
  values: fc.oneof(fc.tuple(value), fc.array(value, { maxLength: 2 })),
  prepare: often,
  isRaw: fc.boolean(),
  isCanceledFirst: fc.boolean(),
});

const sequence: fc.Arbitrary<Sequence> = fc.record({
  isPipelined: fc.boolean(),
  prepare: often,
  chunkBytes: fc.constantFrom(WHOLE, WHOLE, WHOLE, 7, 1),
  batches: fc.array(fc.array(planned, { minLength: 1, maxLength: 6 }), {
    minLength: 1,
    maxLength: 6,
  }),
});

/** The rows, or why there are none. */
type Outcome = readonly string[] | string;
type Comparison = { sent: Sent; got: Outcome; expected: readonly Outcome[] };

const KINDS = ["rows", "error", "lost"] as const;
type Counts = Record<(typeof KINDS)[number], number>;
type Report = { wrong: Comparison[]; counts: Counts };

type Options = Omit<Sequence, "batches">;
type Sent = Planned & { id: number };

const LOST = "lost";
/** Long past what any of these statements takes, also on a busy machine. */
const LOST_MS = 20_000;

/** How many statements of random sequences got rows, an error, or a lost connection. @throws {Error} for a wrong outcome */
export async function checkSequences(sequences: number): Promise<Counts> {
  const total = { rows: 0, error: 0, lost: 0 };
  const property = fc.asyncProperty(sequence, async (planned) => {
    const { wrong, counts } = await runSequence(planned);
    if (wrong.length > 0) throw new Error(Bun.inspect(wrong, { depth: 6 }));
    for (const kind of KINDS) total[kind] += counts[kind];
  });
  await fc.assert(property, { numRuns: sequences });
  return total;
}

/** Runs a sequence on a server of its own. */
async function runSequence({ batches, ...options }: Sequence): Promise<Report> {
  const server = await openFakePostgres(() => options.chunkBytes);
  const report: Report = { wrong: [], counts: { rows: 0, error: 0, lost: 0 } };
  let id = 0;
  let connection = await open(server, options);
  try {
    for (const batch of batches) {
      if (!connection.isAlive()) connection = await open(server, options);
      const statements = batch.map((statement) => ({ ...statement, id: ++id }));
      const sending = statements.map((sent) => runOne(connection, sent));
      const outcomes = await Promise.all(sending);
      report.wrong.push(...findWrong(statements, outcomes, options));
      for (const got of outcomes) report.counts[toKind(got)]++;
    }
    return report;
  } finally {
    connection.end();
    await server.close();
  }
}

const open = (server: FakePostgres, { isPipelined, prepare }: Options): Promise<Connection> =>
  openConnection({ url: server.url, name: "model", isPipelined, prepare });

function toKind(got: Outcome): keyof Counts {
  if (typeof got !== "string") return "rows";
  return got === LOST ? "lost" : "error";
}

async function runOne(connection: Connection, sent: Sent): Promise<Outcome> {
  const { script, kind, values, id, isCanceledFirst } = sent;
  const json = JSON.stringify({ ...script, id });
  const pending = connection.send({
    ...sent,
    text: kind === "message" ? json : TEXTS[kind],
    parameters: kind === "message" ? undefined : [json, ...values],
  });
  const outcome = pending.then((result) => toTexts(sent, result), toReason);
  if (script.end === "cancellation") {
    if (!isCanceledFirst) await Bun.sleep(1);
    void connection.cancel(pending);
  }
  return await Promise.race([outcome, Bun.sleep(LOST_MS).then(() => "no end")]);
}

function toTexts({ kind, script }: Sent, result: unknown[]): string[] {
  const results = kind === "message" && script.before > 0 ? (result as unknown[][]) : [result];
  return Array.from(results).flatMap((rows) => Array.from(rows, toText));
}

/** The text of a row's only value; a row that is missing in the result is `undefined`. */
function toText(row: unknown): string {
  if (Array.isArray(row)) return String(row[0]);
  return (row as { row: string } | undefined)?.row ?? "missing";
}

function toReason(error: unknown): string {
  const code = errorCode(error) ?? String(error);
  return /^(CONNECTION_\w+|ECONNRESET|EPIPE)$/.test(code) ? LOST : code;
}

/** How a statement may end that reaches the end of its script. */
const ENDS = {
  complete: [],
  error: ["22012"],
  "two errors": ["22012"],
  cancellation: ["57014"],
  "end of session": ["57P01", LOST],
  "error, then cut": ["53200", LOST],
  "completion, then cut": [LOST],
  cut: [LOST],
  reset: [LOST],
} as const satisfies Record<End, readonly string[]>;

function findWrong(
  statements: readonly Sent[],
  outcomes: readonly Outcome[],
  { isPipelined }: Options,
): Comparison[] {
  const isDiscarded = (place: number) =>
    isPipelined &&
    statements[place]?.kind !== "message" &&
    statements.slice(0, place + 1).some(forgets);
  const cuts = statements.flatMap((sent, place) => (isCut(sent) ? [place] : []));
  const lastServed = cuts.find((place) => !isDiscarded(place)) ?? statements.length;
  return statements
    .map((sent, place) => {
      const own = listExpected(sent, isDiscarded(place));
      const reached = place > lastServed ? own.filter((one) => typeof one === "string") : own;
      const words = cuts
        .filter((cut) => cut < place)
        .flatMap((cut) => ENDS[statements[cut]?.script.end ?? "cut"]);
      // Bytes that were under way are lost with the connection.
      const expected = cuts.length === 0 ? own : [...reached, ...words, LOST];
      return { sent, got: outcomes[place] ?? "nothing", expected };
    })
    .filter(({ got, expected }) => !expected.some((one) => Bun.deepEquals(one, got)));
}

/** Whether the connection is lost with this statement. */
function isCut(sent: Sent): boolean {
  const isRun = sent.kind !== "rejected" && sent.kind !== "indescribable" && !isUnsendable(sent);
  return isRun && (ENDS[sent.script.end] as readonly string[]).includes(LOST);
}

const isUnsendable = ({ kind, values }: Sent): boolean =>
  kind !== "message" && values.includes(UNSENDABLE);

/** Whether the server may discard the prepared statement, for the statements that are sent behind this one too. */
const forgets = ({ kind, script }: Sent): boolean => script.isForgotten && kind !== "message";

function listExpected(sent: Sent, isDiscarded: boolean): Outcome[] {
  const { kind, script } = sent;
  const expected: Outcome[] = [];
  // Canceled before it reaches the server.
  if (script.end === "cancellation") expected.push("57014");
  // Its values are read when the statement is built, or once it has been described.
  if (isUnsendable(sent)) expected.push("RangeError: Invalid Date");
  if (kind === "rejected") return [...expected, "42601"];
  if (kind === "indescribable") return [...expected, "57014"];
  if (isUnsendable(sent)) return expected;
  if (isDiscarded) expected.push("26000");
  if (script.end === "complete") return [...expected, listRows(sent)];
  return [...expected, ...ENDS[script.end]];
}

function listRows({ id, kind, script, values }: Sent): string[] {
  if (kind === "withoutRows") return [];
  const sent = kind === "message" ? [] : values.map(toSentText);
  const rows = Array.from({ length: script.rows }, (_, position) =>
    toRow({ id, position, values: sent }),
  );
  const times = kind === "message" ? script.before + 1 : 1;
  return Array.from({ length: times }, () => rows).flat();
}

/** What arrives at the server for a value. */
function toSentText(value: Parameter): string | null {
  if (value === null) return null;
  if (typeof value === "boolean") return value ? "t" : "f";
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`;
  return String(value);
}
