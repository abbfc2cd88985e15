/**
 * The tokens of generated SQL. Reads each character once, without a pattern where one character tells the kind: a push of a few
 * tables with rules generates two megabytes. Pure.
 *
 * @module
 */

/** A path is a name after its alias. */
type Kind = "path" | "name" | "value" | "word" | "mark" | "operator";
export type Token = { readonly kind: Kind; readonly text: string };
/** The tokens, and where each starts in the text: the SQL without empty lines. */
type Tokens = { tokens: Token[]; starts: number[]; text: string };

/** What a character begins. Others begin a value, or nothing. */
const CLASSES = {
  blank: " \t\n\v\f\r",
  word: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_",
  digit: "0123456789",
  name: '"',
  mark: "()[],;.:",
  operator: "-+*/<>=~!@#%^&|`?",
} as const;
const NAMES = Object.keys(CLASSES) as (keyof typeof CLASSES)[];
const [BLANK, WORD, DIGIT, NAME, MARK, OPERATOR] = NAMES.map((_, index) => index + 1);
const CLASS_OF = new Uint8Array(0x10000);
for (const [index, name] of NAMES.entries())
  for (const character of CLASSES[name]) CLASS_OF[character.charCodeAt(0)] = index + 1;

/** Texts with escapes, texts, dollar quotes, placeholders and numbers. */
const VALUE =
  /e'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^'\\]|'')*'|(?<tag>\$(?:[a-z_]\w*)?\$)[\s\S]*?\k<tag>|\$\d+|\d+(?:\.\d+)?/iy;
const LINE_END = /[\r\n]/g;
/** An empty part of a template leaves an empty line. */
const EMPTY_LINES = /\n\s*(?=\n)/g;

const CAST: Token = { kind: "mark", text: "::" };
const ASSIGNMENT: Token = { kind: "mark", text: ":=" };
/** By the code of the character. */
const MARKS: Token[] = [];
for (const text of CLASSES.mark) MARKS[text.charCodeAt(0)] = { kind: "mark", text };
/** Words and operators, which all statements share. */
const SLOTS = 4096;
const SHARED: (Token | undefined)[] = Array(SLOTS).fill(undefined);

/** @throws at the first character without a token */
export function tokenize(sql: string): Tokens {
  const tokens: Token[] = [];
  const starts: number[] = [];
  let text = "";
  let copied = 0;
  for (let at = 0; ; ) {
    const start = findSpaceEnd(sql, at);
    if (start === sql.length) return { tokens, starts, text: text + sql.slice(copied, at) };
    if (start > at + 1) {
      const space = sql.slice(at, start).replaceAll(EMPTY_LINES, "");
      if (space.length < start - at) {
        text += sql.slice(copied, at) + space;
        copied = start;
      }
    }
    const token = readToken(sql, start);
    if (token === undefined) throw new Error(`Cannot qualify ${sql.slice(start, start + 40)}`);
    tokens.push(token);
    starts.push(text.length + start - copied);
    at = start + token.text.length;
  }
}

function findSpaceEnd(sql: string, start: number): number {
  for (let at = start; ; ) {
    at = findEnd(sql, at, BLANK);
    if (!sql.startsWith("--", at)) return at;
    LINE_END.lastIndex = at;
    at = LINE_END.test(sql) ? LINE_END.lastIndex : sql.length;
  }
}

/** Returns the first place whose character is of neither class. */
function findEnd(sql: string, start: number, first: number | undefined, second = first): number {
  for (let at = start; at < sql.length; at++) {
    const found = CLASS_OF[sql.charCodeAt(at)];
    if (found !== first && found !== second) return at;
  }
  return sql.length;
}

function readToken(sql: string, start: number): Token | undefined {
  switch (CLASS_OF[sql.charCodeAt(start)]) {
    case WORD:
      return readWord(sql, start);
    case NAME:
      return readName(sql, start);
    case MARK:
      return readMark(sql, start);
    case OPERATOR:
      return share("operator", sql, start, findEnd(sql, start, OPERATOR));
    default:
      return readValue(sql, start);
  }
}

function readMark(sql: string, start: number): Token | undefined {
  if (sql.startsWith("::", start)) return CAST;
  if (sql.startsWith(":=", start)) return ASSIGNMENT;
  return MARKS[sql.charCodeAt(start)];
}

function readWord(sql: string, start: number): Token | undefined {
  const end = findEnd(sql, start, WORD, DIGIT);
  const isEscaped = end === start + 1 && sql[end] === "'" && /e/i.test(sql[start] ?? "");
  return isEscaped ? readValue(sql, start) : share("word", sql, start, end);
}

/** Finds the token without making its text: that costs more than the rest of reading it. */
function share(kind: Kind, sql: string, start: number, end: number): Token {
  let hash = 0;
  for (let at = start; at < end; at++) hash = (hash * 31 + sql.charCodeAt(at)) | 0;
  const slot = hash & (SLOTS - 1);
  const known = SHARED[slot];
  if (known !== undefined && known.text.length === end - start && sql.startsWith(known.text, start))
    return known;
  const token = { kind, text: sql.slice(start, end) };
  SHARED[slot] = token;
  return token;
}

function readName(sql: string, start: number): Token | undefined {
  const first = findNameEnd(sql, start);
  if (first === undefined) return undefined;
  let end = first;
  while (sql.startsWith('."', end)) {
    const next = findNameEnd(sql, end + 1);
    if (next === undefined) break;
    end = next;
  }
  return { kind: end === first ? "name" : "path", text: sql.slice(start, end) };
}

/** The end of a name that is not empty; two quotes within a name are one. */
function findNameEnd(sql: string, start: number): number | undefined {
  for (let at = start + 1; ; ) {
    const quote = sql.indexOf('"', at);
    if (quote < 0) return undefined;
    if (sql[quote + 1] !== '"') return quote === start + 1 ? undefined : quote + 1;
    at = quote + 2;
  }
}

function readValue(sql: string, start: number): Token | undefined {
  VALUE.lastIndex = start;
  const text = VALUE.exec(sql)?.[0];
  return text === undefined ? undefined : { kind: "value", text };
}
