/** A file of rows, read in pieces: its size does not matter. @module */
import type { TableDefinition } from "../../dsl/mod.ts";
import {
  type FileFormat,
  type Mapping,
  type Match,
  makeRowsReader,
  makeSource,
  type RowsRead,
} from "../../rows/mod.ts";

export type RowsFile = {
  path: string;
  format: FileFormat;
  table: TableDefinition;
  mapping: Mapping;
  matches: ReadonlyMap<string, Match>;
};

const NOT_UTF8 = "Is not UTF-8 from here on: save the file as UTF-8";

/** The rows and errors of a file; `onBytes` receives all that is read. */
export async function* readRowsFile(
  { path, format, table, mapping, matches }: RowsFile,
  onBytes: (bytes: Uint8Array) => void = () => undefined,
): AsyncGenerator<RowsRead, void> {
  const reader = makeRowsReader(makeSource(format), { table, mapping, matches });
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let line = 0;
  const read = (toText: () => string, isEnd: boolean): RowsRead & { isBroken: boolean } => {
    let text: string;
    try {
      text = toText();
    } catch {
      return { rows: [], faults: [{ line: line + 1, message: NOT_UTF8 }], isBroken: true };
    }
    const part = reader.push(text);
    const rest = isEnd ? reader.end() : { rows: [], faults: [] };
    line = [...part.rows, ...rest.rows].at(-1)?.line ?? line;
    return {
      rows: [...part.rows, ...rest.rows],
      faults: [...part.faults, ...rest.faults],
      isBroken: false,
    };
  };
  for await (const bytes of Bun.file(path).stream()) {
    onBytes(bytes);
    const part = read(() => decoder.decode(bytes, { stream: true }), false);
    yield part;
    if (part.isBroken) return;
  }
  yield read(() => decoder.decode(), true);
}
