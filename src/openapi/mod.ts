/** OpenAPI: the machine-readable description of the API, generated from the tables that serve it. @module */
export { findBreaks } from "./breaks.ts";
export { type Document, makeDocument } from "./document.ts";
export { guideRoutes } from "./guides.tsx";
export { referenceRoutes } from "./reference/routes.tsx";
export { makeGuideSearch } from "./reference/search_page.tsx";
export { followReference } from "./references.ts";
export { makeDocuments, type OpenapiDeps, openapiRoutes } from "./routes.ts";
