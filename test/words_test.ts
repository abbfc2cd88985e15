/**
 * The avoided words: no name, comment, text or page contains them, except in the listed phrases.
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
  ["no one, “no users”", "nobody", /[`"|] ?nobody ?[`"|]/g],
  ["someone, another user, all users", "somebody, anybody, everybody"],
  [
    "is invalid, does not exist",
    "is none, as none",
    /\bthere is none\b|\bcount as none\b|\bis None\b/g,
  ],
  ["is defined, is stored", "stands, stand, stood"],
  ["immediately, together", "at once"],
  [
    "returns, reports, logs, shows",
    "told, tell, tells, say, says, said",
    // A field of doctor's results.
    /\bsays(?= ?[,:})=;])|[.$]\{?says\b|\bsays \}/g,
  ],
  [
    "acquire, accept, read",
    "take, takes, taken, taking, took",
    /\b(?:take|takes|taken|took) (?:effect|precedence|longer|over|about)\b|\bnot run: takes\b|\bTook\b|\band took\b|["'`]taken["'`]|\btaken:/gi,
  ],
  [
    "created, removed, stored",
    "made, gone, kept",
    // Outcomes, fields and notices of commands, and a template of mails.
    /["'`]made["'`]|\bmade[:,]|\blink Made At\b|\brecovery codes made\b|\bKEPT\b|\bit is kept\b|\bkept(?=[,:.])|, kept\b/g,
  ],
  ["unavailable, deferred", "away, late"],
  ["only, automatically", "alone, by itself"],
  ["again, another, next to, since then", "anew, further, beside, besides, meanwhile"],
  ["response, to respond", "answer, answers, answered, answering"],
  [
    "reject, deny, fail",
    "refuse, refuses, refused, refusing, refusal, refusals",
    /\bConnection ?refused\b|"refused"|\bservices refuse it\b/gi,
  ],
  [
    "issue in code, “validation error” in text",
    "fault, faults, trouble, troubles",
    /\bfault(?=[:,} ])|'fault'/g,
  ],
  ["blocker", "hindrance, hindrances"],
  ["conflict, duplicate", "clash, clashes, misfit, misfits"],
  [
    "notice, warning",
    "note, notes, noted, remark, remarks",
    // The field of a push's response, and names in the examples.
    /\bnotes\b|\b(?:todos|todo|column|columns)[. ]note\b|\bnoted at\b/gi,
  ],
  [
    "result, check",
    "look, looks, looked, finding, findings, judge, judged, examine, examined",
    /\blook-alike\b|\b(?:looks?|looked) (?:up|like|complete|the same)\b|\bfindings:|\{ findings|\bfor finding\b|\blook each row up\b|\blook up\b/gi,
  ],
  ["account settings", "own account"],
  [
    "repository, module, layer, entry point",
    "house, room, rooms, floors, door, doors",
    /(?:^|["(; ])House\b/g,
  ],
  [
    "chaos, property",
    "storm, storms, law, laws",
    // The name of a suite.
    /\btest[:/]storm\b/gi,
  ],
  ["spelled, normalize, canceled", "spelt, normalise, normalised, cancelled"],
];

/** Words that are unclear as a name, and fine in a sentence. */
const AS_NAMES: readonly Row[] = [
  [
    "the thing: column, key",
    "one, ones",
    /(?<=\b(?!const|let|as|into|foreach)[a-z]+,? )ones?(?=[ .,;:`])|\bone (?:object|of|migration|account)\b|oneOf/gi,
  ],
  ["max, limit", "most", /\bat most\b/gi],
  [
    "presented, visible",
    "shown",
    /\b(?:is|are|not|only) shown\b|\bshown (?:once|again|for)\b|\bShown in apps\b|\bdone=shown\b|\band shown\b/gi,
  ],
  ["action", "act, acts", /\bname="act"/g],
  ["text, message, cache key", "words, word", /\bunrelated words\b|\bCOMP WORDS\b|\bwords=/g],
  [
    "environment, position",
    "place, places",
    /\bplaces: (?:rows|environments)\b|\bplace: name\b|\/places\/|\{ places: \[\{ place\b/g,
  ],
];

/** A comment starts with a subject and its verb, not with a relative clause. */
const OPENINGS =
  /(?:\/\*\*|\/\/|--) (?:Whoever|Who|Whom|Whose|Whatever|What|Of (?:a|an|the|those)) /g;

/** Comments, and literals of one line. */
const SENTENCE = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$|"[^"\n]*"|`[^`$\n]*`/gm;

const FILES = ["src/**/*.{ts,sql}", "docs/*.md", "examples/*/src/**/*.ts", "deploy/*", "*.md"];
/** Tests, of which only comments are checked. */
const TESTS = ["test/**/*.ts"];
const UNCHECKED = /^src\/db\/functions\.ts$|^test\/words_test\.ts$|node_modules\//;

const [texts, tests] = await Promise.all([readAll(FILES), readAll(TESTS)]);
const comments = tests
  .flatMap(({ text }) => text.match(SENTENCE) ?? [])
  .filter((part) => part.startsWith("/"));
const all = [...texts.map(({ text }) => text), ...comments].join("\n");
const prose = splitNames(all);
const names = splitNames(texts.map(({ path, text }) => removeSentences(path, text)).join("\n"));

async function readAll(patterns: readonly string[]): Promise<{ path: string; text: string }[]> {
  const paths = patterns.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(".")]);
  const checked = paths.filter((path) => !UNCHECKED.test(path));
  return await Promise.all(
    checked.map(async (path) => ({ path, text: await Bun.file(path).text() })),
  );
}

/** Returns code without {@linkcode SENTENCE}s. */
function removeSentences(path: string, text: string): string {
  if (path.endsWith(".md")) return "";
  if (path.endsWith(".sql")) return text.replace(/--.*$|'[^'\n]*'/gm, "");
  return text.replace(SENTENCE, "");
}

/** `refuseFor` and `refuse_for` as words. */
function splitNames(text: string): string {
  return text.replaceAll("_", " ").replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2");
}

/** Each use of an avoided word, with the text around it. */
function findUses(text: string, [, avoid, usual]: Row): string[] {
  const word = new RegExp(String.raw`\b(?:${avoid.replaceAll(", ", "|")})\b`, "gi");
  const lines = text.split("\n").filter((line) => line.search(word) >= 0);
  return lines.filter((line) => line.replaceAll(usual ?? /$/g, "").search(word) >= 0);
}

const rows = [
  ...ANYWHERE.map((row) => ({ write: row[0], avoid: row[1], uses: findUses(prose, row) })),
  ...AS_NAMES.map((row) => ({ write: row[0], avoid: row[1], uses: findUses(names, row) })),
  {
    write: "a comment with a subject and a verb",
    avoid: "/** Who …, /** What …",
    uses: all.match(OPENINGS) ?? [],
  },
];

test.each(rows)("$avoid: write $write", ({ uses }) => {
  expect(uses).toEqual([]);
});
