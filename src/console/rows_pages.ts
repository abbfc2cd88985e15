/** The pages of the rows of one table, by what follows the table's address. @module */
import type { Visit } from "./enter.ts";
import { answerRows } from "./rows_page.ts";

type Handle = (visit: Visit) => Promise<Response>;

export const ROWS_PAGES: readonly { path: string; show: Handle; take?: Handle }[] = [
  { path: "", show: answerRows },
];
