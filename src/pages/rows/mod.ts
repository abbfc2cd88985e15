/** Rows in pages, rendered by the server and by the scripts of the grid: cells, fields, and the states of fields. @module */
export {
  describeColumn,
  renderCell,
  toRowPath,
} from "./cells.tsx";
export { type RowField, renderRowField } from "./fields.tsx";
export * from "./grid.tsx";
export * from "./row.ts";
export * from "./state.ts";
