/** Sends the rows of a checked file in batches. Each batch has a key, so that a batch sent twice is stored once. @module */
import {
  type Batch,
  describeStored,
  type FileRow,
  makeBatcher,
  type RowsFate,
  splitBatch,
} from "../../../rows/mod.ts";
import { requestPage } from "../dom.ts";
import { type ImportFile, LIMITS, readFile, sizeOfField } from "./file.ts";

type Detail = { readonly path: string; readonly message: string };
type BatchResponse = {
  readonly isStored: boolean;
  /** Whether an earlier import of the file had stored the batch. */
  readonly isReplay?: boolean;
  /** What happened to each row of a batch that updates rows. */
  readonly results?: readonly RowResult[];
  /** Whether the rows of a failed batch are stored. */
  readonly rows: RowsFate;
  readonly code: string;
  readonly message: string;
  readonly details: readonly Detail[];
  readonly retryAfterS: number;
};
export type RowResult = "created" | "updated" | "unchanged";
export type BatchSender = (batch: Batch, key: string) => Promise<BatchResponse>;

export const SIGNED_OUT = {
  isStored: false,
  rows: "not stored",
  code: "signed_out",
  message: "Your session has ended: sign in again in another tab, then press Resume",
  details: [],
  retryAfterS: 0,
} as const;

/** Posts a form to the page; returns the JSON of the response, or `undefined` if the session has ended. */
export type Post = (fields: Readonly<Record<string, string>>) => Promise<object | undefined>;

export function makePost({ url, token }: { url: string; token: string }): Post {
  let current = token;
  const send = async (fields: Readonly<Record<string, string>>) => {
    const form = new URLSearchParams({ form_token: current, ...fields });
    // A redirect leads to the sign-in.
    const response = await fetch(url, { method: "POST", body: form, redirect: "manual" });
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return isJson ? ((await response.json()) as object) : undefined;
  };
  return async (fields) => {
    const response = await send(fields);
    if (response !== undefined) return response;
    // After another sign-in the page has another token.
    const { page } = await requestPage(url);
    current = page.querySelector<HTMLElement>("[data-import]")?.dataset["token"] ?? current;
    return await send(fields);
  };
}

/** Sends rows to create, or to update by the columns of a unique constraint, separated by commas. */
export function makeSender(post: Post, unique?: string): BatchSender {
  return async ({ body }, key) => {
    const fields = { batch: body, batch_key: key, ...(unique !== undefined && { unique }) };
    return ((await post(fields)) as BatchResponse | undefined) ?? SIGNED_OUT;
  };
}

/** The reason why an import stopped, and its errors by line. */
export type Stop = { readonly message: string; readonly lines: readonly string[] };

type Progress = { readonly stored: number; readonly replayed: number };

type SendOptions = {
  /** The seed of the keys of the batches. */
  readonly key: string;
  readonly sender: BatchSender;
  /** Whether to send a batch in parts if the stored rows have large values in other columns than the file. */
  readonly splits?: boolean;
  readonly onStored: (progress: Progress, response: BatchResponse) => void;
};

/** Sends all rows. Returns the reason if the import stopped early; `undefined` if all rows are stored. */
export async function sendFile(file: ImportFile, options: SendOptions): Promise<Stop | undefined> {
  const failed = await sendRows(readFile(file), options);
  return failed && toStop(failed);
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
  const batcher = makeBatcher(LIMITS, sizeOfField);
  let [number, stored, replayed] = [0, 0, 0];
  const send = async (batches: readonly Batch[]): Promise<FailedBatch | undefined> => {
    const waiting = [...batches];
    for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
      const response = await sendBatch(batch, `${options.key}-${number++}`, options);
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

/** Sends a batch again when the app's rate limit allows it. */
async function sendBatch(
  batch: Batch,
  key: string,
  { sender }: SendOptions,
): Promise<BatchResponse> {
  for (;;) {
    const response = await sender(batch, key).catch(() => LOST);
    if (response.isStored || response.code !== "rate_limited") return response;
    await wait(response.retryAfterS);
  }
}

/** Waits until the rate limit allows another request. */
export function wait(retryAfterS: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(retryAfterS, 1) * 1000));
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
  };
}
