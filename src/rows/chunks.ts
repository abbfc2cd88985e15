/** Reads a file in chunks of bytes, from a disk or a browser. @module */
import { decodeChunks } from "./decode.ts";
import type { RowsRead, RowsReader } from "./read_rows.ts";

/** The rows and errors of a file in this encoding; default: UTF-8. */
export async function* readChunks(
  chunks: AsyncIterable<Uint8Array>,
  reader: RowsReader,
  encoding?: string,
): AsyncGenerator<RowsRead, void> {
  let line = 0;
  for await (const decoded of decodeChunks(chunks, encoding)) {
    if ("issue" in decoded) {
      yield { rows: [], issues: [{ line: line + 1, message: decoded.issue }] };
      return;
    }
    const part = reader.push(decoded.text);
    line = part.rows.at(-1)?.line ?? line;
    yield part;
  }
  yield reader.end();
}
