/**
 * What the released version and this tree answer to the same requests on the same database, without previews and with all of
 * them. A difference that users may see has a line of the changelog in `accepted.ts`.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PREVIEWS } from "../../src/preview.ts";
import { ROOT } from "../support/command.ts";
import { ACCEPTED, type Accepted } from "./accepted.ts";
import { type Difference, replay } from "./replay.ts";

const VERSION = "0.1.0";
const TIMEOUT_MS = 600_000;
/** The smallest list that has every route with every credential. */
const LEAST = 2000;
const found = new Set<Accepted>();

for (const preview of ["", PREVIEWS.join(",")])
  test(
    `responses are those of ${VERSION}, with ${preview || "no previews"}`,
    async () => {
      const { requests, differences } = await replay(VERSION, ROOT, preview);
      const others = differences.filter((difference) => !isAccepted(difference));
      console.log(
        `${requests} requests, ${differences.length - others.length} accepted differences`,
      );
      expect(requests).toBeGreaterThan(LEAST);
      expect(others.map(describe)).toEqual([]);
    },
    TIMEOUT_MS,
  );

test("each accepted difference occurs, and is in the changelog", () => {
  const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8").replaceAll(/\s+/g, " ");
  expect(ACCEPTED.filter((accepted) => !found.has(accepted)).map(({ why }) => why)).toEqual([]);
  expect(ACCEPTED.map(({ why }) => why).filter((why) => !changelog.includes(why))).toEqual([]);
});

function isAccepted(difference: Difference): boolean {
  const accepted = ACCEPTED.filter(({ explains }) => explains(difference));
  for (const each of accepted) found.add(each);
  return accepted.length > 0;
}

function describe({ request, theirs, ours }: Difference): string {
  const { method, path, credential } = request;
  const sent = request.text ?? (request.json === undefined ? "" : JSON.stringify(request.json));
  const lines = [`${method} ${path} (${credential}) ${sent.slice(0, 200)}`];
  if (theirs.status !== ours.status) lines.push(`status ${theirs.status} → ${ours.status}`);
  const without = (some: readonly string[], others: readonly string[]) =>
    some.filter((header) => !others.includes(header));
  lines.push(...without(theirs.headers, ours.headers).map((header) => `- ${header}`));
  lines.push(...without(ours.headers, theirs.headers).map((header) => `+ ${header}`));
  if (theirs.body !== ours.body) lines.push(...showBodies(theirs.body, ours.body));
  if (lines.length === 1) lines.push(...showDrawn(theirs.drawn, ours.drawn));
  return lines.join("\n");
}

/** Both bodies from shortly before their first difference. */
function showBodies(theirs: string, ours: string): string[] {
  let at = 0;
  while (at < theirs.length && theirs[at] === ours[at]) at++;
  const show = (body: string) => JSON.stringify(body.slice(Math.max(0, at - 60), at + 160));
  return [`- ${show(theirs)}`, `+ ${show(ours)}`];
}

/** Values that stood for others before, such as a tag that only one of the two changed. */
function showDrawn(theirs: readonly string[], ours: readonly string[]): string[] {
  const pairs = theirs.map((value, nth) => `drawn ${value} ~ ${ours[nth]}`);
  return [...new Set(pairs.filter((_, nth) => theirs[nth] !== ours[nth]))].slice(0, 8);
}
