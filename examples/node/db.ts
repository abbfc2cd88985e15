/** The client, with the key of the app: only on the server. */
import { createDataClient } from "rowhouse-client/data";
import schema from "./schema/mod.ts";

export const db = createDataClient({
  baseUrl: process.env["ROWHOUSE_URL"] ?? "",
  apiKey: process.env["ROWHOUSE_API_KEY"] ?? "",
  schema,
});
