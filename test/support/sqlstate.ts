/** PostgreSQL's errors for statements that a login is not allowed to run. @module */
import postgres from "postgres";

/** Returns the SQLSTATE of a rejected statement; empty if PostgreSQL accepts it. */
export async function sqlstateOf(login: postgres.Sql, text: string): Promise<string> {
  try {
    await login.unsafe(text);
    return "";
  } catch (error) {
    return error instanceof postgres.PostgresError ? error.code : "no SQLSTATE";
  }
}
