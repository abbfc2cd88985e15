/** Runs a search in a worker of its own, one at a time. @module */
import type { Search, SearchReport } from "./search_rows.ts";

/** Not in the types of every compiler. @see https://www.w3.org/TR/trusted-types/ */
declare const trustedTypes:
  | {
      createPolicy: (
        name: string,
        rules: { createScriptURL: (url: string) => string },
      ) => { createScriptURL: (url: string) => string };
    }
  | undefined;

const ADDRESS = /^\/assets\/search\.[0-9a-f]{16}\.js$/;

/** The only program that this page may start, by its policy. */
const policy =
  typeof trustedTypes === "undefined"
    ? undefined
    : trustedTypes.createPolicy("search", { createScriptURL: checkAddress });

function checkAddress(url: string): string {
  if (ADDRESS.test(url)) return url;
  throw new TypeError("Not the address of the search");
}

let running: { worker: Worker; cancel: () => void } | undefined;

/** What a search found; `undefined` if it was canceled, such as by another one. */
export function runSearch(
  script: string,
  search: Search,
  onProgress: (report: SearchReport & { kind: "progress" }) => void,
): Promise<Exclude<SearchReport, { kind: "progress" }> | undefined> {
  cancelSearch();
  const worker = new Worker(policy?.createScriptURL(script) ?? script, { type: "module" });
  return new Promise((resolve) => {
    const end = (report?: Exclude<SearchReport, { kind: "progress" }>) => {
      worker.terminate();
      if (running?.worker === worker) running = undefined;
      resolve(report);
    };
    running = { worker, cancel: () => end() };
    worker.addEventListener("error", () => end({ kind: "failed", reason: "The search stopped." }));
    worker.addEventListener("message", ({ data }: MessageEvent<SearchReport>) => {
      if (data.kind === "progress") onProgress(data);
      else end(data);
    });
    worker.postMessage(search);
  });
}

export function cancelSearch(): void {
  running?.cancel();
}
