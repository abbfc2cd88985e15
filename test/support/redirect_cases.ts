/** The redirect_uri values of test/fixtures/redirect_uri.tsv, for an app with the targets of its first line. @module */
import { readFileSync } from "node:fs";

export type RedirectCase = { text: string; isAllowed: boolean };

const file = new URL("../fixtures/redirect_uri.tsv", import.meta.url);

export const REDIRECT_CASES: readonly RedirectCase[] = readFileSync(file, "utf8")
  .split("\n")
  .slice(1)
  .filter((line) => line !== "")
  .map((line) => {
    const [json = "", verdict] = line.split("\t");
    if (verdict !== "allow" && verdict !== "reject") throw new Error(`No verdict in: ${line}`);
    return { text: JSON.parse(json) as string, isAllowed: verdict === "allow" };
  });

export const REDIRECT_TARGETS = {
  origins: ["https://wiki.example.org"],
  redirects: ["https://app.example.org/callback", "https://port.example.org:8443/cb"],
};
