/** The recorded tables, kept current; shared by data and push. @module */
export { type Catalog, type CatalogStore, makeCatalog, type RecordedTable } from "./catalog.ts";
export {
  type Constraint,
  constraintColumns,
  deriveName,
  enumTypeName,
  indexesOf,
  keysOf,
  referencesOf,
} from "./names.ts";
