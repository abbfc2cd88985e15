/** What an import works on: its file, which is read in pieces, once for each pass. @module */
import { MAX_BATCH, MAX_BODY } from "../../data/pure.ts";
import type { TableDefinition } from "../../dsl/mod.ts";
import {
  type FileFormat,
  type Mapping,
  type Match,
  makeRowsReader,
  makeSource,
  type RowsRead,
  readChunks,
} from "../../rows/mod.ts";
import type { Setting } from "../cli/command.ts";
import type { App } from "./app.ts";

export type RowsFile = {
  path: string;
  format: FileFormat;
  table: TableDefinition;
  mapping: Mapping;
  matches: ReadonlyMap<string, Match>;
};

export type ImportTask = {
  app: App;
  table: string;
  /** The file as it was typed. */
  name: string;
  fromLine: number;
  /** Empty, or what makes the keys of this run its own. */
  run: string;
  file: RowsFile;
  setting: Setting;
};

/** Of a batch. */
export const LIMITS = { rows: MAX_BATCH, bytes: MAX_BODY };

/** The rows and errors of a file; `onBytes` receives all that is read. */
export function readRowsFile(
  { path, format, ...options }: RowsFile,
  onBytes: (bytes: Uint8Array) => void = () => undefined,
): AsyncGenerator<RowsRead, void> {
  const pass = async function* () {
    for await (const bytes of Bun.file(path).stream()) {
      onBytes(bytes);
      yield bytes;
    }
  };
  return readChunks(pass(), makeRowsReader(makeSource(format), options));
}

/** What the check of a file found. */
export type Checked = { digest: string; rows: number; batches: number };
