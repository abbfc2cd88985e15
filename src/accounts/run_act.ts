/** One call of an SQL function by which an operator acts: it changes, checks and notes in the audit log all at once. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";

export type Act = {
  readonly text: string;
  readonly values: readonly (string | number | boolean | null)[];
};

/** What it returns. @throws what `refuse` makes of the database's error */
export async function runAct<Row>(
  admin: Database,
  { text, values }: Act,
  refuse: (error: unknown) => unknown,
): Promise<Row[]> {
  try {
    return await admin.query<Row>(text, values, { retry: "unsafe", queue: SERVICE_QUEUE });
  } catch (error) {
    throw refuse(error);
  }
}
