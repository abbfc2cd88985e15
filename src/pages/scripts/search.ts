/** The worker that searches a table, so that comparing 50,000 rows never blocks the page. @module */
import { findRows, type Search } from "./search/rows.ts";

addEventListener("message", ({ data }: MessageEvent<Search>) => {
  void findRows(data, (report) => postMessage(report));
});
