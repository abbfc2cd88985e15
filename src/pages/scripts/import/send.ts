/** Sends the rows of a checked file in batches. Each batch has a key, so that a batch sent twice is stored once. @module */
import {
  type Batch,
  describeStored,
  type FileRow,
  findLostColumns,
  type ListedRow,
  makeBatcher,
  type RowsFate,
  splitBatch,
} from "../../../rows/mod.ts";
import { isObject, tryParseJson } from "../../../std/json.ts";
import { splitList, splitObject } from "../../../std/json_text.ts";
import { callPatiently, type Lost, SIGNED_OUT as SIGNED_OUT_REASON, startAct } from "../data.ts";
import { type ImportFile, LIMITS, readFile } from "./file.ts";

/** A row with its JSON text, whose digest is its entity tag; empty if only its id and what it was created with are known. */
export type TableRow = ListedRow & { readonly text: string };

type Detail = { readonly path: string; readonly message: string };
type BatchResponse = {
  readonly isStored: boolean;
  /** Whether an earlier import of the file had stored the batch. */
  readonly isReplay?: boolean;
  /** What happened to each row of a batch that updates rows. */
  readonly results?: readonly RowResult[];
  /** The stored rows: created, or changed by their ids. */
  readonly created?: readonly TableRow[];
  /** Whether the rows of a failed batch are stored. */
  readonly rows: RowsFate;
  readonly code: string;
  readonly message: string;
  readonly details: readonly Detail[];
};
export type RowResult = "created" | "updated" | "unchanged";
export type BatchSender = (batch: Batch, key: string) => Promise<BatchResponse>;

export const SIGNED_OUT = {
  isStored: false,
  rows: "not stored",
  code: "signed_out",
  message: "Your session has ended: sign in again in another tab, then press Resume",
  details: [],
} as const;

type Target = {
  /** The columns of the unique constraint by which rows are updated, separated by commas. */
  readonly unique?: string;
  /** `PATCH` changes rows by their ids. */
  readonly method?: "POST" | "PATCH";
  /** The import. */
  readonly act: string;
};

export function makeSender(url: string, { unique, method = "POST", act }: Target): BatchSender {
  const query = unique === undefined ? "" : `?${new URLSearchParams({ onConflict: unique })}`;
  return async ({ body }, key) => {
    const headers = { ...startAct(act), "idempotency-key": key };
    const answer = await callPatiently(`${url}${query}`, { method, body, headers });
    if (answer.kind === "lost") return toLost(answer);
    if (answer.kind === "rejected")
      return answer.status === 403 && answer.code === "forbidden"
        ? SIGNED_OUT
        : { ...NOT_STORED, ...answer };
    const response = tryParseJson(answer.text);
    const lost = findLostColumns(body, response);
    const created = readCreated(response, answer.text);
    const results = isObject(response)
      ? (response["results"] as RowResult[] | undefined)
      : undefined;
    if (lost.length === 0)
      return {
        ...NOT_STORED,
        isStored: true,
        isReplay: answer.isReplay,
        results: results ?? [],
        created,
      };
    const message = `The import stopped: the table no longer has ${lost.join(", ")}`;
    return { ...NOT_STORED, rows: "stored", code: "incompatible_schema", message, created };
  };
}

function readCreated(response: unknown, text: string): TableRow[] {
  const rows = isObject(response) ? response["rows"] : undefined;
  const texts = Array.isArray(rows) ? splitList(splitObject(text).get("rows") ?? "[]") : [];
  return texts.map((row, index) => {
    const values = (rows as readonly TableRow["values"][])[index] ?? {};
    return { id: String(values["id"]), values, text: row };
  });
}

const NOT_STORED = {
  ...{ isStored: false, rows: "not stored", code: "", message: "", details: [] },
} as const satisfies BatchResponse;

/** Explains a batch without a usable response, whose rows can be stored all the same. */
function toLost(lost: Lost): BatchResponse {
  if (lost.reason === SIGNED_OUT_REASON) return SIGNED_OUT;
  if (lost.isServerError !== true) return LOST;
  return { ...LOST, message: lost.reason.replace(/\.$/, "") };
}

/** The reason why an import stopped, and its errors by line. */
export type Stop = {
  readonly message: string;
  readonly lines: readonly string[];
  /** Whether a batch without a response may be stored. */
  readonly isUnknown?: boolean;
};

type Progress = { readonly stored: number; readonly replayed: number };

export type SendOptions = {
  /** The seed of the keys of the batches. */
  readonly key: string;
  readonly sender: BatchSender;
  /** Whether to send a batch in parts if the stored rows have large values in other columns than the file. */
  readonly splits?: boolean;
  readonly onStored: (progress: Progress, response: BatchResponse) => void;
};

/** Sends all rows. Returns the reason if the import stopped early; `undefined` if all rows are stored. */
export async function sendFile(file: ImportFile, options: SendOptions): Promise<Stop | undefined> {
  const failed = await sendRows(listKept(file), options);
  return failed && toStop(failed);
}

async function* listKept(file: ImportFile): AsyncGenerator<Rows, void> {
  for await (const { rows } of readFile(file))
    yield { rows: rows.filter(({ line }) => file.leftOut?.has(line) !== true) };
}

/** A batch that is not stored, and the number of rows in the batches before it. */
type FailedBatch = {
  readonly response: BatchResponse;
  readonly batch: Batch;
  readonly stored: number;
};

type Rows = { readonly rows: readonly FileRow[] };

export async function sendRows(
  parts: AsyncIterable<Rows> | Iterable<Rows>,
  options: SendOptions,
): Promise<FailedBatch | undefined> {
  const batcher = makeBatcher(LIMITS);
  let [number, stored, replayed] = [0, 0, 0];
  const send = async (batches: readonly Batch[]): Promise<FailedBatch | undefined> => {
    const waiting = [...batches];
    for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
      const response = await options.sender(batch, `${options.key}-${number++}`);
      const { length } = batch.lines;
      if (options.splits === true && response.code === "body_too_large" && length > 1) {
        waiting.unshift(...splitBatch(batch, Math.ceil(length / 2)));
        continue;
      }
      if (!response.isStored) return { response, batch, stored };
      stored += batch.lines.length;
      if (response.isReplay === true) replayed += batch.lines.length;
      options.onStored({ stored, replayed }, response);
    }
    return undefined;
  };
  for await (const { rows } of parts)
    for (const row of rows) {
      const failed = await send(batcher.add(row).full);
      if (failed !== undefined) return failed;
    }
  return await send(batcher.end());
}

export const LOST: BatchResponse = {
  ...SIGNED_OUT,
  rows: "unknown",
  code: "network_error",
  message: "The service did not respond",
};

/** The errors of a batch by line. */
export function toLines({ response: { details }, batch: { lines } }: FailedBatch): string[] {
  return details.map(({ path, message }) => {
    const [, index = "", column = ""] = path.split("/");
    return `Line ${lines[Number(index)] ?? "?"}${column === "" ? "" : `, ${column}`}: ${message}`;
  });
}

function toStop(failed: FailedBatch): Stop {
  const { response, batch, stored } = failed;
  const { message, details, rows } = response;
  const { lines } = batch;
  const advice = `To continue with a corrected file, delete its lines of stored rows first: those before line ${rows === "stored" ? (lines.at(-1) ?? 1) + 1 : lines[0]}, except the line with the column names. A changed file is imported from its start.`;
  const isChanged = rows === "stored" || (stored > 0 && details.length > 0);
  return {
    message: [
      `${message}.`,
      describeStored({ stored, lines, rows }),
      isChanged ? advice : "",
      rows === "unknown" ? "Resume stores no row twice." : "",
    ]
      .filter((part) => part !== "")
      .join(" "),
    lines: toLines(failed),
    isUnknown: rows === "unknown",
  };
}
