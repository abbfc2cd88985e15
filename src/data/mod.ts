/** Data: rows of apps' tables over REST. Knows no SQL except the call of a generated function. @module */
export { MAX_ROWS } from "./query.ts";
export { type DataDeps, dataRoutes, LIST_BYTES, MAX_BODY } from "./routes.ts";
