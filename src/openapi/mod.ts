/** OpenAPI: the description of the API for machines, made of the tables that serve it. @module */
export { findBreaks } from "./breaks.ts";
export { type Document, makeDocument } from "./document.ts";
export { makeDocuments, type OpenapiDeps, openapiRoutes } from "./routes.ts";
