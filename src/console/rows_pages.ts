/** The pages of the rows of one table, by what follows the table's address. @module */
import type { Visit } from "./enter.ts";
import { answerChange, answerChangeForm } from "./rows_change.ts";
import { answerRowDeletion, answerRowDeletionForm } from "./rows_delete.ts";
import { answerRow, answerRowForm } from "./rows_edit.ts";
import { answerCsv, answerJsonFile } from "./rows_export.ts";
import { answerImport, answerImportForm } from "./rows_import.ts";
import { answerRowsJson } from "./rows_json.ts";
import { answerNewRow, answerNewRowForm } from "./rows_new.ts";
import { answerRows } from "./rows_page.ts";

type Handle = (visit: Visit) => Promise<Response>;

export const ROWS_PAGES: readonly { path: string; show: Handle; take?: Handle }[] = [
  { path: "", show: answerRows },
  { path: "/new", show: answerNewRow, take: answerNewRowForm },
  { path: "/rows/:row", show: answerRow, take: answerRowForm },
  { path: "/rows/:row/delete", show: answerRowDeletion, take: answerRowDeletionForm },
  { path: "/import", show: answerImport, take: answerImportForm },
  { path: "/change", show: answerChange, take: answerChangeForm },
  { path: "/list", show: answerRowsJson },
  { path: "/export/csv", show: answerCsv },
  { path: "/export/json", show: answerJsonFile },
];
