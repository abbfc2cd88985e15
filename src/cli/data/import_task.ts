/** The task of an import. Its file is read in chunks, once per pass. @module */

import {
  type FileFormat,
  type Mapping,
  type Match,
  makeRowsReader,
  makeSource,
  type RowsRead,
  readChunks,
} from "../../rows/mod.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { MAX_BATCH, MAX_BODY_BYTES } from "../../std/limits.ts";
import type { Setting } from "../command.ts";
import type { App } from "./app.ts";

export type RowsFile = {
  path: string;
  format: FileFormat;
  table: TableDefinition;
  mapping: Mapping;
  matches: ReadonlyMap<string, Match>;
  /** The name of the encoding; `undefined` for UTF-8. */
  encoding: string | undefined;
  /** Whether the texts have apostrophes of an export for spreadsheets; `undefined` if its mark decides. */
  isProtected: boolean | undefined;
};

export type ImportTask = {
  app: App;
  table: string;
  /** The file path as typed. */
  name: string;
  fromLine: number;
  /** Empty, or a random text that makes the keys of this run unique. */
  run: string;
  file: RowsFile;
  setting: Setting;
};

/** The limits of a batch. */
export const LIMITS = { rows: MAX_BATCH, bytes: MAX_BODY_BYTES };

/** The rows and errors of a file; `onBytes` receives the bytes. */
export function readRowsFile(
  { path, format, encoding, isProtected, ...options }: RowsFile,
  onBytes: (bytes: Uint8Array) => void = () => undefined,
): AsyncGenerator<RowsRead, void> {
  const pass = async function* () {
    for await (const bytes of Bun.file(path).stream()) {
      onBytes(bytes);
      yield bytes;
    }
  };
  const reader = makeRowsReader(makeSource(format, { isProtected }), options);
  return readChunks(pass(), reader, encoding);
}

/** The result of checking a file. */
export type Checked = { digest: string; rows: number; batches: number };
