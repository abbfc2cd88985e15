/** The pages of the rows of one table, by the end of their path. @module */
import type { Visit } from "./enter.ts";
import { handleChange, handleChangeForm } from "./rows_change.ts";
import { streamRowsChanges } from "./rows_changes.ts";
import { handleRowDeletion, handleRowDeletionForm } from "./rows_delete.ts";
import { handleRow, handleRowForm } from "./rows_edit.ts";
import { handleCsv, handleJsonFile } from "./rows_export.ts";
import { handleImport, handleImportForm } from "./rows_import.ts";
import { handleRowsJson } from "./rows_json.ts";
import { handleNewRow, handleNewRowForm } from "./rows_new.ts";
import { handleRows } from "./rows_page.ts";

type Handle = (visit: Visit) => Promise<Response>;

export const ROWS_PAGES: readonly { path: string; show: Handle; submit?: Handle }[] = [
  { path: "", show: handleRows },
  { path: "/new", show: handleNewRow, submit: handleNewRowForm },
  { path: "/rows/:row", show: handleRow, submit: handleRowForm },
  { path: "/rows/:row/delete", show: handleRowDeletion, submit: handleRowDeletionForm },
  { path: "/import", show: handleImport, submit: handleImportForm },
  { path: "/change", show: handleChange, submit: handleChangeForm },
  { path: "/list", show: handleRowsJson },
  { path: "/changes", show: streamRowsChanges },
  { path: "/export/csv", show: handleCsv },
  { path: "/export/json", show: handleJsonFile },
];
