/** Sends the rows of a checked file in batches. Each batch has a key, so that a batch sent twice is stored once. @module */
import { type Batch, describeStored, makeBatcher, type RowsFate } from "../../../rows/mod.ts";
import { requestPage } from "../dom.ts";
import { type ImportFile, LIMITS, readFile, sizeOfField } from "./file.ts";

type Detail = { readonly path: string; readonly message: string };
type BatchResponse = {
  readonly isStored: boolean;
  /** Whether an earlier import of the file had stored the batch. */
  readonly isReplay?: boolean;
  /** Whether the rows of a failed batch are stored. */
  readonly rows: RowsFate;
  readonly code: string;
  readonly message: string;
  readonly details: readonly Detail[];
  readonly retryAfterS: number;
};
export type BatchSender = (batch: Batch, key: string) => Promise<BatchResponse>;

const SIGNED_OUT = {
  isStored: false,
  rows: "not stored",
  code: "signed_out",
  message: "Your session has ended: sign in again in another tab, then press Resume",
  details: [],
  retryAfterS: 0,
} as const;

export function makeSender({ url, token }: { url: string; token: string }): BatchSender {
  let current = token;
  const send = async (body: string, key: string): Promise<BatchResponse | undefined> => {
    const form = new URLSearchParams({ form_token: current, batch: body, batch_key: key });
    // A redirect leads to the sign-in.
    const response = await fetch(url, { method: "POST", body: form, redirect: "manual" });
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return isJson ? ((await response.json()) as BatchResponse) : undefined;
  };
  return async ({ body }, key) => {
    const response = await send(body, key);
    if (response !== undefined) return response;
    // After another sign-in the page has another token.
    const { page } = await requestPage(url);
    current = page.querySelector<HTMLElement>("[data-import]")?.dataset["token"] ?? current;
    return (await send(body, key)) ?? SIGNED_OUT;
  };
}

/** The reason why an import stopped, and its errors by line. */
export type Stop = { readonly message: string; readonly lines: readonly string[] };

type Progress = { readonly stored: number; readonly replayed: number };

type SendOptions = {
  /** The seed of the keys of the batches. */
  readonly key: string;
  readonly sender: BatchSender;
  readonly onStored: (progress: Progress) => void;
};

/** Sends all rows. Returns the reason if the import stopped early; `undefined` if all rows are stored. */
export async function sendFile(file: ImportFile, options: SendOptions): Promise<Stop | undefined> {
  const batcher = makeBatcher(LIMITS, sizeOfField);
  let [number, stored, replayed] = [0, 0, 0];
  const send = async (batches: readonly Batch[]): Promise<Stop | undefined> => {
    for (const batch of batches) {
      const response = await sendBatch(batch, `${options.key}-${number++}`, options);
      if (!response.isStored) return toStop(response, batch, stored);
      stored += batch.lines.length;
      if (response.isReplay === true) replayed += batch.lines.length;
      options.onStored({ stored, replayed });
    }
    return undefined;
  };
  for await (const { rows } of readFile(file))
    for (const row of rows) {
      const stop = await send(batcher.add(row).full);
      if (stop !== undefined) return stop;
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
    await new Promise((resolve) => setTimeout(resolve, Math.max(response.retryAfterS, 1) * 1000));
  }
}

const LOST: BatchResponse = {
  ...SIGNED_OUT,
  rows: "unknown",
  code: "network_error",
  message: "The service did not respond",
};

function toStop(
  { message, details, rows }: Pick<BatchResponse, "message" | "details" | "rows">,
  { lines }: Pick<Batch, "lines">,
  stored: number,
): Stop {
  const toLine = ({ path, message: text }: Detail) => {
    const [, index = "", column = ""] = path.split("/");
    return `Line ${lines[Number(index)] ?? "?"}${column === "" ? "" : `, ${column}`}: ${text}`;
  };
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
    lines: details.map(toLine),
  };
}
