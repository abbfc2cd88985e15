/** The recorded tables: keeps them current, calls their functions, and checks their isolation. @module */
export { type Catalog, MAX_CATALOG_AGE_MS, makeCatalog, type RecordedTable } from "./catalog.ts";
export { type ColumnSet, hashColumnSet, queryColumns, toColumnSet } from "./column_set.ts";
export {
  ALL_ENDPOINTS,
  callText,
  type Endpoint,
  type EndpointCall,
  endpointsOf,
  FUNCTION_CALLERS,
  FUNCTION_OWNER,
  type FunctionSite,
  functionName,
  functionSignature,
  hasPreview,
  NO_MATCH,
  ofAnotherRelease,
  placeholdersOf,
  printedArguments,
  REJECTED,
  type RecordedName,
  requiredEndpointsOf,
  SCOPE_OF,
  TABLE_OWNER,
  toParameters,
} from "./functions.ts";
export { type Isolation, listIssues, makeIsolationCheck } from "./isolation_check.ts";
export {
  type Constraint,
  type DeferredParts,
  deriveName,
  enumTypeName,
  findConstraint,
  indexesOf,
  keysOf,
  type RecordedDefinition,
  referencesOf,
} from "./names.ts";
export { pageHead, rowTag, TAG_LENGTH } from "./tags.ts";
