/** The compiler rejects wrong names, wrong types and missing arguments of calls. Compiled, never run. @module */
import { call, type Database } from "../../src/db/mod.ts";

export const calls = (db: Database) => [
  call(db, "reject_row", { row_id: "x" }),
  // @ts-expect-error another name
  call(db, "reject_row", { id: "x" }),
  // @ts-expect-error another type
  call(db, "reject_row", { row_id: 1 }),
  // @ts-expect-error no such function
  call(db, "reject_rows", {}),
  // @ts-expect-error an argument is missing
  call(db, "reject_row", {}),
];
