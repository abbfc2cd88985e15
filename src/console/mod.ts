/**
 * The Console for administrators in a browser: apps, keys, people, tables, rows, requests and the audit log. The server renders
 * it, and every form works without a script. It uses only the Console's login, with calls that prove both cookies.
 *
 * @module
 */
export type { ConsolePageDeps } from "./enter.tsx";
export { respondWithConsoleProblem } from "./frame.tsx";
export { consoleRoutes, unknownConsoleRoute } from "./routes.ts";
export { makeRowsKeys } from "./rows/call.ts";
export type { FindSchemaFile, SchemaFile } from "./schema_file.ts";
