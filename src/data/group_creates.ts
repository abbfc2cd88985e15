/** Creates that can be part of a group: their statement, and the lines of its response. @module */

import { type Grouping, type GroupRow, toDatabaseError } from "../db/mod.ts";
import type { KeyRequestContext } from "../http/mod.ts";
import {
  type EndpointCall,
  REJECTED,
  type RecordedTable,
  toParameters,
} from "../tables/catalog/mod.ts";
import type { DataDeps } from "./deps.ts";
import type { Kept } from "./kept.ts";

type CreateCall = Extract<EndpointCall, { endpoint: "create" }> & { readonly table: RecordedTable };
/** The statement for a table's groups, and the bytes of all defaults of a row. */
type CreateStatement = {
  texts: { create_group: string };
  kept: Pick<Kept, "create_group">;
  defaultBytes: number;
};

/** How creates are grouped; `undefined` if this service does not group creates. */
export function toGrouping(
  { catalog, groupsCreates }: DataDeps,
  { principal: { appId, proof } }: KeyRequestContext,
  { values, table: { definition } }: CreateCall,
  { texts: { create_group: text }, kept, defaultBytes }: CreateStatement,
): Grouping | undefined {
  if (!groupsCreates || catalog.dialect().hasNodes) return undefined;
  const { id, body, bytes, claim } = values;
  return {
    key: `${appId} ${text} ${proof.toHex()}`,
    row: { id, body, claim },
    bytes: body.length + defaultBytes,
    touched: kept.create_group,
    toCall: (rows) => {
      const claims = rows.map((row) => row.claim);
      const call = {
        endpoint: "create_group",
        values: {
          ids: rows.map((row) => row.id),
          bodies: `[${rows.map((row) => row.body).join(",")}]`,
          bytes,
          claims: claims.every((claim) => claim === null) ? null : claims,
        },
      } as const;
      return { text, parameters: toParameters(definition, { app: appId, proof }, call) };
    },
    readLines,
  };
}

const LINE_END = 10;
const ID_LENGTH = 36;

/** The result of each row; `undefined` if a line does not belong to its row. */
function readLines(
  response: Uint8Array<ArrayBuffer>,
  rows: readonly GroupRow[],
): (Uint8Array<ArrayBuffer> | Error)[] | undefined {
  const results: (Uint8Array<ArrayBuffer> | Error)[] = [];
  let start = 0;
  for (const { id } of rows) {
    const end = response.indexOf(LINE_END, start);
    const line = response.subarray(start, end < 0 ? undefined : end);
    if (!isLineOf(line, id)) return undefined;
    results.push(readLine(line.subarray(ID_LENGTH)));
    start = end < 0 ? response.length + 1 : end + 1;
  }
  return start > response.length ? results : undefined;
}

function isLineOf({ buffer, byteOffset, length }: Uint8Array, id: string): boolean {
  return Buffer.from(buffer, byteOffset, length).toString("latin1", 0, ID_LENGTH) === id;
}

/** The row or the replay, or the error of the row. */
function readLine(line: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | Error {
  if (line[0] !== REJECTED.charCodeAt(0)) return line;
  const fields: unknown = JSON.parse(new TextDecoder().decode(line.subarray(1)));
  const failure = { retry: "safe", isTimedOut: false, isEarly: true, isHandedOver: false } as const;
  return toDatabaseError(fields, failure);
}
