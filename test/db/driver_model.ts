/**
 * Sends random sequences of statements over successive connections to a server that responds by script. Each statement
 * must get its own rows or its own error, never the result of another statement.
 *
 * @module
 */
import * as fc from "fast-check";
import { type Connection, openConnection, type Parameter } from "../../src/db/pool/connection.ts";
import { errorCode } from "../../src/std/network.ts";
import {
  type End,
  type FakePostgres,
  openFakePostgres,
  type Script,
  TEXTS,
  toRow,
} from "../support/fake_postgres.ts";
import type { Runs } from "../support/tier.ts";

type Planned = {
  script: Omit<Script, "id">;
  kind: "message" | keyof typeof TEXTS;
  values: readonly Parameter[];
  prepare: boolean;
  isRaw: boolean;
  /** Whether a statement that waits for its cancellation is canceled before it is sent. */
  isCanceledFirst: boolean;
};

type Sequence = {
  isPipelined: boolean;
  prepare: boolean;
  chunkBytes: number;
  /** The statements of a batch are sent together. The next batch is sent after all of them have ended. */
  batches: readonly (readonly Planned[])[];
};

const UNSPLIT = 1 << 20;
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
  script: fc.record({ rows: fc.nat(3), end, isForgotten: fc.boolean(), before: fc.nat(2) }),
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
  chunkBytes: fc.constantFrom(UNSPLIT, UNSPLIT, UNSPLIT, 7, 1),
  batches: fc.array(fc.array(planned, { minLength: 1, maxLength: 6 }), {
    minLength: 1,
    maxLength: 6,
  }),
});

/** The rows, or the error. */
type Outcome = readonly string[] | string;
type Comparison = { sent: Sent; got: Outcome; expected: readonly Outcome[] };

const KINDS = ["rows", "error", "lost"] as const;
type Counts = Record<(typeof KINDS)[number], number>;
type Report = { wrong: Comparison[]; counts: Counts };

type Options = Omit<Sequence, "batches">;
type Sent = Planned & { id: number };

const LOST = "lost";
/** Much longer than any of these statements runs, even on a busy machine. */
const LOST_MS = 20_000;

/**
 * Counts the statements of random sequences that got rows, an error or a lost connection. @throws {Error} for a wrong
 * outcome
 */
export async function checkSequences(runs: Runs): Promise<Counts> {
  const total = { rows: 0, error: 0, lost: 0 };
  const property = fc.asyncProperty(sequence, async (planned) => {
    const { wrong, counts } = await runSequence(planned);
    if (wrong.length > 0) throw new Error(Bun.inspect(wrong, { depth: 6 }));
    for (const kind of KINDS) total[kind] += counts[kind];
  });
  await fc.assert(property, runs);
  return total;
}

/** Runs a sequence on a new server. */
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

/** Returns the text of a row's only value, or `missing` for a missing row. */
function toText(row: unknown): string {
  if (Array.isArray(row)) return String(row[0]);
  return (row as { row: string } | undefined)?.row ?? "missing";
}

function toReason(error: unknown): string {
  const code = errorCode(error) ?? String(error);
  return /^(CONNECTION_\w+|ECONNRESET|EPIPE)$/.test(code) ? LOST : code;
}

/** The expected errors of a statement at the end of its script. */
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
  const isDiscarded = (index: number) =>
    isPipelined &&
    statements[index]?.kind !== "message" &&
    statements.slice(0, index + 1).some(forgets);
  const cuts = statements.flatMap((sent, index) => (isCut(sent) ? [index] : []));
  const lastServed = cuts.find((index) => !isDiscarded(index)) ?? statements.length;
  return statements
    .map((sent, index) => {
      const own = listExpected(sent, isDiscarded(index));
      const reached =
        index > lastServed ? own.filter((outcome) => typeof outcome === "string") : own;
      const errors = cuts
        .filter((cut) => cut < index)
        .flatMap((cut) => ENDS[statements[cut]?.script.end ?? "cut"]);
      // A lost connection also loses bytes that were not yet delivered.
      const expected = cuts.length === 0 ? own : [...reached, ...errors, LOST];
      return { sent, got: outcomes[index] ?? "nothing", expected };
    })
    .filter(({ got, expected }) => !expected.some((outcome) => Bun.deepEquals(outcome, got)));
}

/** Returns whether the statement ends the connection. */
function isCut(sent: Sent): boolean {
  const isRun = sent.kind !== "rejected" && sent.kind !== "indescribable" && !isUnsendable(sent);
  return isRun && (ENDS[sent.script.end] as readonly string[]).includes(LOST);
}

const isUnsendable = ({ kind, values }: Sent): boolean =>
  kind !== "message" && values.includes(UNSENDABLE);

/** Returns whether the server can discard the prepared statement, which also fails the statements behind it. */
const forgets = ({ kind, script }: Sent): boolean => script.isForgotten && kind !== "message";

function listExpected(sent: Sent, isDiscarded: boolean): Outcome[] {
  const { kind, script } = sent;
  const expected: Outcome[] = [];
  // The statement can be canceled before it reaches the server.
  if (script.end === "cancellation") expected.push("57014");
  // The driver reads the values when it builds the statement, or after the server has described it.
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

/** Returns the server's text for a value. */
function toSentText(value: Parameter): string | null {
  if (value === null) return null;
  if (typeof value === "boolean") return value ? "t" : "f";
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`;
  return String(value);
}
