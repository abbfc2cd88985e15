/**
 * Generators write plain SQL. This adds the schema to every operator, function, type and relation, so that PostgreSQL finds
 * nothing of a body through the search path or in a temporary schema. What has its schema remains. A bare word that is no keyword belongs to `pg_catalog`,
 * where PostgreSQL rejects it if it does not exist. Throws if the meaning would change, and for syntax whose operator
 * PostgreSQL always finds through the search path, such as `is distinct from`. Pure.
 *
 * @module
 */
import { type Token, tokenize } from "./sql_tokens.ts";

/** Keywords that continue an expression. */
const INNER = toSet(
  "all any array coalesce collate exists false found greatest least null row true",
);
/** Keywords that begin or end an expression. */
const OUTER = toSet(`
  and as asc begin by cardinality_violation case conflict constant cross deadlock_detected declare delete desc diagnostics distinct do else elsif end exception execute exit filter
  first for foreach from full get group having if in insert integrity_constraint_violation into is join key last lateral left limit
  loop materialized no not nothing nulls offset on or order ordinality over perform preceding raise recursive return returning rows select serialization_failure set
  stacked then unbounded union update using values when where while with`);
/** What `raise` sets, and what `get stacked diagnostics` reads. */
const ITEMS = toSet(`
  column column_name constraint constraint_name detail errcode hint message_text returned_sqlstate table table_name`);
/** How tightly operators bind, loosest first. As `operator(…)`, all bind equally. */
const LEVELS = ["= <> < > <= >=", "|| -> ->> #> #>> ? &", "+ -", "* / %"].map(toSet);

function toSet(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}

/** @throws at the first token without a safe meaning */
export function qualify(sql: string): string {
  const { tokens, starts, text: plain } = tokenize(sql);
  const frames: Frame[] = [{ closer: "", level: Infinity }];
  const place: Place = { text: "", earlier: "", before: "", next: tokens[0]?.text ?? "", frames };
  let qualified = "";
  let copied = 0;
  let index = 0;
  for (const { kind, text } of tokens) {
    const start = starts[index++] ?? 0;
    place.earlier = place.before;
    place.before = place.text;
    place.text = text;
    place.next = tokens[index]?.text ?? "";
    const rendered = RULES[kind](place);
    if (rendered === text) continue;
    if (rendered === undefined) {
      const near = tokens.slice(Math.max(0, index - 10), index + 2).map((token) => token.text);
      throw new Error(`Cannot qualify ${text} in ${near.join(" ")}`);
    }
    qualified += plain.slice(copied, start) + rendered;
    copied = start + text.length;
  }
  if (frames.length > 1) throw new Error(`Cannot qualify SQL without ${frames.at(-1)?.closer}`);
  return qualified + plain.slice(copied);
}

/** A part of the SQL within parentheses, brackets, or `case … end`. */
type Frame = {
  closer: string;
  /** The level of the last operator of the expression. */
  level: number;
  /** Whether it follows a name, as a list of columns does. */
  isList?: boolean;
  /** In the list of `update … set`: whether the next `=` assigns. */
  assigns?: boolean | undefined;
};

/** A token and the texts around it; the innermost frame is the last. */
type Place = { text: string; earlier: string; before: string; next: string; frames: Frame[] };

/** A token as qualified SQL; `undefined` if it has no safe meaning. */
const RULES: Readonly<Record<Token["kind"], (place: Place) => string | undefined>> = {
  value: ({ text }) => text,
  path: ({ text }) => text,
  name: checkName,
  mark: readMark,
  word: qualifyWord,
  operator: qualifyOperator,
};

const CLOSERS: Readonly<Record<string, string>> = { "(": ")", "[": "]", case: "end" };

/** Variables and aliases contain a `$`. Columns have an alias before them, except where a statement lists or sets its columns. */
function checkName({ text, before, next, frames }: Place): string | undefined {
  if (before === "." || next === ".") return text;
  if (next === "(") return before === "as" || before === "recursive" ? text : undefined;
  const frame = frames.at(-1);
  const isKnown = text.startsWith('"$') || frame?.isList === true || frame?.assigns === true;
  // After these, a name would be a type.
  const isType = /^(::|constant|\)|".*|'.*)$/s.test(before);
  return before === "as" || (isKnown && !isType) ? text : undefined;
}

function readMark({ text, before, frames }: Place): string | undefined {
  const frame = frames.at(-1);
  const closer = CLOSERS[text];
  if (closer !== undefined)
    frames.push({ closer, level: Infinity, isList: before.startsWith('"') });
  else if (text === ")" || text === "]") {
    if (frames.pop()?.closer !== text) return undefined;
  } else if (text === ";" && frames.length > 1) return undefined;
  else if (frame !== undefined && text !== "." && text !== "::") {
    frame.level = Infinity;
    if (text === "," && frame.assigns !== undefined) frame.assigns = true;
  }
  return text;
}

function qualifyWord(place: Place): string | undefined {
  const { text, before, next, frames } = place;
  if (text === "operator" && next === "(") return isLooser(frames, WRITTEN) ? undefined : text;
  if (before === "." || next === "." || INNER.has(text) || ITEMS.has(text)) return text;
  if (!OUTER.has(text) || (text === "left" && next === "(")) {
    // The text of such a value is itself a name.
    const isLookup = text.startsWith("reg") && before === "::" && !/^'.*\./s.test(place.earlier);
    return isLookup ? undefined : `pg_catalog.${text}`;
  }
  if (!isSafeKeyword(place)) return undefined;
  const frame = frames.at(-1);
  if (text === "case") frames.push({ closer: "end", level: Infinity });
  else if (text === "end" && frame?.closer === "end") frames.pop();
  else if (frame !== undefined) {
    frame.level = Infinity;
    if (text === "set") frame.assigns = true;
    if (["where", "returning", "from"].includes(text)) frame.assigns = undefined;
  }
  return text;
}

/** PostgreSQL finds the operators of `x in (…)`, `case x when`, `is distinct from` and `join … using` through the search path. */
function isSafeKeyword({ text, earlier, before, next }: Place): boolean {
  if (text === "in") return earlier === "for" || earlier === "foreach";
  if (text === "case") return next === "when";
  if (text === "distinct") return before === "select" || before === "(";
  return text !== "using" || next !== "(";
}

function qualifyOperator({ text, before, next, frames }: Place): string | undefined {
  const frame = frames.at(-1);
  if (before === ".") return text;
  if (text === "*" && ["(", "select", "."].includes(before)) return text;
  if (text === "=" && (ITEMS.has(before) || ITEMS.has(next))) return text;
  if (text === "=" && frame?.assigns === true) {
    frame.assigns = false;
    return text;
  }
  const level = LEVELS.findIndex((operators) => operators.has(text));
  if (level < 0 || (level === 0 && frame?.level === 0)) return undefined;
  return isLooser(frames, level) ? undefined : `operator(pg_catalog.${text})`;
}

/** The level of an operator that is written with its schema: with all other operators that have no level of their own. */
const WRITTEN = 1;

/** Whether the expression before the operator binds more loosely: PostgreSQL would read `a = b + c` as `(a = b) + c`. */
function isLooser(frames: readonly Frame[], level: number): boolean {
  const frame = frames.at(-1);
  if (frame === undefined || level > frame.level) return true;
  frame.level = level;
  return false;
}
