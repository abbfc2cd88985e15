/**
 * The Console: apps, keys and what happened, for administrators in a browser. Rendered by the server; every form works
 * without a script. Reads and acts only on the Console's login, by calls that prove both cookies; never on another.
 *
 * @module
 */
export type { ConsolePageDeps } from "./enter.ts";
export { respondWithConsoleProblem } from "./frame.ts";
export { consoleRoutes } from "./routes.ts";
export { makeRowsKeys } from "./rows_keys.ts";
