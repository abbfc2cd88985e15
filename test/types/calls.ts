/** The compiler rejects wrong names, wrong types and missing arguments of calls. Compiled, never run. @module */
import { call, type Database } from "../../src/db/mod.ts";

export const calls = (db: Database) => [
  call(db, "show_user", { email: "x" }),
  // @ts-expect-error another name
  call(db, "show_user", { id: "x" }),
  // @ts-expect-error another type
  call(db, "show_user", { email: 1 }),
  // @ts-expect-error no such function
  call(db, "list_session", {}),
  // @ts-expect-error an argument is missing
  call(db, "show_user", {}),
];
