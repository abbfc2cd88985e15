/** PostgreSQL's response to a login that tries what it may not. @module */
import postgres from "postgres";

/** The SQLSTATE by which a message is rejected; empty where it is not. */
export async function sqlstateOf(login: postgres.Sql, text: string): Promise<string> {
  try {
    await login.unsafe(text);
    return "";
  } catch (error) {
    return error instanceof postgres.PostgresError ? error.code : "no SQLSTATE";
  }
}
