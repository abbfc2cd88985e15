/**
 * The avoided words of names, comments, texts and pages: each has a recorded number in `words.json`, which may only fall.
 * `UPDATE_WORDS=1 bun test ./test/words_test.ts` records lower numbers.
 *
 * @module
 */
import { expect, test } from "bun:test";

/**
 * The words to write, the words to avoid (whole words, also in `camelCase` and `snake_case`), and the phrases in which an
 * avoided word is the usual English.
 */
type Row = readonly [write: string, avoid: string, usual?: RegExp];

const ANYWHERE: readonly Row[] = [
  ["anyone who, the person who", "whoever"],
  ["no one, “no users”", "nobody"],
  ["someone, another user, all users", "somebody, anybody, everybody"],
  ["is invalid, does not exist", "is none, as none"],
  ["is defined, is stored", "stands, stand, stood"],
  ["immediately, together", "at once"],
  ["returns, reports, logs, shows", "told, tell, tells, say, says, said"],
  ["acquire, accept, read", "take, takes, taken, taking, took", /\b(?:take|takes) effect\b/gi],
  ["created, removed, stored", "made, gone, kept"],
  ["unavailable, deferred", "away, late"],
  ["only, automatically", "alone, by itself"],
  ["again, another, next to, since then", "anew, further, beside, besides, meanwhile"],
  ["response, to respond", "answer, answers, answered, answering"],
  ["reject, deny, fail", "refuse, refuses, refused, refusing, refusal, refusals"],
  ["issue in code, “validation error” in text", "fault, faults, trouble, troubles"],
  ["blocker", "hindrance, hindrances"],
  ["conflict, duplicate", "clash, clashes, misfit, misfits"],
  ["notice, warning", "note, notes, noted, remark, remarks"],
  ["result, check", "look, looks, looked, finding, findings, judge, judged, examine, examined"],
  ["account settings", "own account"],
  ["repository, module, layer, entry point", "house, room, rooms, floor, floors, door, doors"],
  ["end-to-end, chaos, property", "walk, walks, storm, storms, law, laws"],
  ["spelled, normalize, canceled", "spelt, normalise, normalised, cancelled"],
];

/** Words that are unclear as a name, and fine in a sentence. */
const AS_NAMES: readonly Row[] = [
  ["the thing: column, key", "one, ones"],
  ["max, limit", "most"],
  ["authenticated, presented", "shown"],
  ["action", "act, acts"],
  ["text, message, cache key", "words, word"],
  ["environment, position", "place, places"],
];

/** A comment starts with a subject and its verb, not with a relative clause. */
const OPENINGS =
  /(?:\/\*\*|\/\/|--) (?:Whoever|Who|Whom|Whose|Whatever|What|Of (?:a|an|the|those)) /g;

const FILES = ["src/**/*.{ts,sql}", "docs/*.md", "examples/*/src/**/*.ts", "*.md"];
const GENERATED = "src/db/functions.ts";

const texts = await Promise.all(
  FILES.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(".")])
    .filter((path) => path !== GENERATED)
    .map(async (path) => ({ path, text: await Bun.file(path).text() })),
);
const all = texts.map(({ text }) => text).join("\n");
const prose = splitNames(all);
const names = splitNames(texts.map(({ path, text }) => removeSentences(path, text)).join("\n"));

/** Code without comments and literals of one line. */
function removeSentences(path: string, text: string): string {
  if (path.endsWith(".md")) return "";
  if (path.endsWith(".sql")) return text.replace(/--.*$|'[^'\n]*'/gm, "");
  return text.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$|"[^"\n]*"|`[^`$\n]*`/gm, "");
}

/** `refuseFor` and `refuse_for` as words. */
function splitNames(text: string): string {
  return text.replaceAll("_", " ").replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2");
}

function count(text: string, [, avoid, usual]: Row): number {
  const pattern = String.raw`\b(?:${avoid.replaceAll(", ", "|")})\b`;
  const counted = usual === undefined ? text : text.replaceAll(usual, "");
  return counted.match(new RegExp(pattern, "gi"))?.length ?? 0;
}

const counts = [
  ...ANYWHERE.map((row) => ({ write: row[0], avoid: row[1], now: count(prose, row) })),
  ...AS_NAMES.map((row) => ({ write: row[0], avoid: row[1], now: count(names, row) })),
  {
    write: "a comment with a subject and a verb",
    avoid: "/** Who …, /** What …",
    now: all.match(OPENINGS)?.length ?? 0,
  },
];

const recordFile = Bun.file("test/words.json");
const recorded: Readonly<Record<string, number>> = await recordFile.json();
if (process.env["UPDATE_WORDS"] === "1") {
  const lower = counts.map(({ avoid, now }) => [avoid, Math.min(now, recorded[avoid] ?? now)]);
  await Bun.write(recordFile, `${JSON.stringify(Object.fromEntries(lower), null, 2)}\n`);
}

test.each(counts)("$avoid: write $write", ({ avoid, now }) => {
  expect(now).toBeLessThanOrEqual(recorded[avoid] ?? 0);
});
