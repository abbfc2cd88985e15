/** The worker that searches a table: comparing 50,000 rows never holds up the page. It is ended when it is not needed. @module */
import { findRows, type Search } from "./search_rows.ts";

addEventListener("message", ({ data }: MessageEvent<Search>) => {
  void findRows(data, (report) => postMessage(report));
});
