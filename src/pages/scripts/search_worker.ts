/** Runs each search in a separate worker. @module */
import type { Search, SearchReport } from "./search/rows.ts";

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

/** The only worker that the policy of the page allows. */
const policy =
  typeof trustedTypes === "undefined"
    ? undefined
    : trustedTypes.createPolicy("search", { createScriptURL: checkAddress });

function checkAddress(url: string): string {
  if (ADDRESS.test(url)) return url;
  throw new TypeError("Not the address of the search");
}

type SearchResult = Exclude<SearchReport, { kind: "progress" }>;

type Searcher = {
  /** The result of a search; `undefined` if it was canceled, such as by the next search. */
  readonly run: (
    script: string,
    search: Search,
    onProgress?: (report: SearchReport & { kind: "progress" }) => void,
  ) => Promise<SearchResult | undefined>;
  readonly cancel: () => void;
};

/** Searches; each new search cancels the previous one. */
export function makeSearcher(): Searcher {
  let cancel = () => {};
  return {
    cancel: () => cancel(),
    run: (script, search, onProgress) => {
      cancel();
      const worker = new Worker(policy?.createScriptURL(script) ?? script, { type: "module" });
      return new Promise((resolve) => {
        const end = (result?: SearchResult) => {
          worker.terminate();
          resolve(result);
        };
        cancel = () => end();
        worker.addEventListener("error", () =>
          end({ kind: "failed", reason: "The search stopped." }),
        );
        worker.addEventListener("message", ({ data }: MessageEvent<SearchReport>) => {
          if (data.kind === "progress") onProgress?.(data);
          else end(data);
        });
        worker.postMessage(search);
      });
    },
  };
}
