/** Calls of the server of this app. */
import type { Row } from "rowhouse-client/schema";
import type schema from "../schema/mod.ts";

export type Todo = Pick<Row<typeof schema, "todos">, "title" | "status"> & { id: string };
export type Page = { rows: Todo[] };

/** The response of the app's server as JSON. @throws {Error} with the message of the server */
export async function request<T>(
  path: string,
  init?: { method: string; body: object },
): Promise<T> {
  const headers = { "content-type": "application/json" };
  const body = init && { method: init.method, headers, body: JSON.stringify(init.body) };
  const response = await fetch(path, body);
  const json = await response.json();
  if (!response.ok) throw new Error(json.message);
  return json;
}
