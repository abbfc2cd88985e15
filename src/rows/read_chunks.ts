/** Reads a file in chunks of bytes, from a disk or a browser. @module */
import type { RowsRead, RowsReader } from "./read_rows.ts";

const NOT_UTF8 = "Is not UTF-8 from here on: save the file as UTF-8";

/** The rows and errors of a file. */
export async function* readChunks(
  chunks: AsyncIterable<Uint8Array>,
  reader: RowsReader,
): AsyncGenerator<RowsRead, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let line = 0;
  const read = (toText: () => string): RowsRead | undefined => {
    let text: string;
    try {
      text = toText();
    } catch {
      return undefined; // the decoder's message has no details
    }
    const part = reader.push(text);
    line = part.rows.at(-1)?.line ?? line;
    return part;
  };
  for await (const bytes of chunks) {
    const part = read(() => decoder.decode(bytes, { stream: true }));
    yield part ?? toBroken(line);
    if (part === undefined) return;
  }
  yield read(() => decoder.decode()) ?? toBroken(line);
  yield reader.end();
}

function toBroken(line: number): RowsRead {
  return { rows: [], issues: [{ line: line + 1, message: NOT_UTF8 }] };
}
