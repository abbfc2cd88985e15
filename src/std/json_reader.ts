/** Reads the values of NDJSON or of a JSON array as a stream, each as text with the line where it begins. @module */

export type JsonText = {
  readonly line: number;
  readonly text: string;
  /** The syntax error, if splitting detects it. */
  readonly issue?: string;
};

type JsonTextReader = {
  /** The values completed by this chunk. */
  readonly push: (text: string) => JsonText[];
  /** The last value, and any syntax error at the end. */
  readonly end: () => JsonText[];
};

/** Max length of a value: a missing end must not fill the memory. */
const MAX_VALUE_CHARS = 1_048_576;

/**
 * A reader that splits without parsing: invalid JSON is returned unchanged. The first character decides: `[` starts an
 * array; any other character starts NDJSON.
 *
 * @see https://github.com/ndjson/ndjson-spec
 * @example
 * ```ts
 * const lines = makeJsonTextReader();
 * expect([...lines.push('{"a":1}\n\n{"a"'), ...lines.push(":2}"), ...lines.end()]).toEqual([
 *   { line: 1, text: '{"a":1}' },
 *   { line: 3, text: '{"a":2}' },
 * ]);
 * const list = makeJsonTextReader();
 * expect([...list.push('[{"a":"],"},\n{"a":2}'), ...list.push("]"), ...list.end()]).toEqual([
 *   { line: 1, text: '{"a":"],"}' },
 *   { line: 2, text: '{"a":2}' },
 * ]);
 * ```
 */
export function makeJsonTextReader(): JsonTextReader {
  let reader: JsonTextReader | undefined;
  let start = "";
  return {
    push: (chunk) => {
      if (reader !== undefined) return reader.push(chunk);
      start = (start + chunk).replace(/^\uFEFF/, "");
      const first = /[^ \t\r\n]/.exec(start)?.[0];
      // Only whitespace so far. Searching it again for each chunk would be quadratic.
      if (first === undefined && start.length <= MAX_VALUE_CHARS) return [];
      reader = first === "[" ? makeArrayReader() : makeLineReader();
      return reader.push(start);
    },
    end: () => reader?.end() ?? [],
  };
}

function makeLineReader(): JsonTextReader {
  let rest = "";
  let line = 0;
  const emit = (lines: readonly string[]): JsonText[] =>
    lines.flatMap((text) => {
      line++;
      const trimmed = text.trim();
      return trimmed === "" ? [] : [{ line, text: trimmed }];
    });
  return {
    push: (chunk) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length <= MAX_VALUE_CHARS) return emit(lines);
      lines.push(rest.slice(0, MAX_VALUE_CHARS));
      rest = "";
      return emit(lines);
    },
    end: () => emit([rest]),
  };
}

/** Tracks only depth and strings. Text after the array is returned as a separate value, which is never a valid row. */
function makeArrayReader(): JsonTextReader {
  const state: ArrayState = { depth: 0, isString: false, isEscaped: false };
  let [text, at, line, count] = ["", 0, 1, 0];
  /** The line where the next value begins, once it has begun. */
  let startLine: number | undefined;
  const emit = (end: number): JsonText => {
    const value = { line: startLine ?? line, text: text.slice(0, end).trim() };
    drop();
    startLine = undefined;
    count++;
    return value;
  };
  const drop = () => {
    text = text.slice(at);
    at = 0;
  };
  const push = (chunk: string): JsonText[] => {
    text += chunk;
    const values: JsonText[] = [];
    while (at < text.length) {
      const character = text[at++] ?? "";
      const event = step(state, character);
      if (character === "\n") line++;
      if (event === "value") startLine ??= line;
      const isEmpty = state.depth === 0 && count === 0 && startLine === undefined;
      if (event === "open" || (event === "end" && isEmpty)) drop();
      else if (event === "end") values.push(emit(at - 1));
      else if (at > MAX_VALUE_CHARS) values.push(emit(at));
    }
    return values;
  };
  const end = (): JsonText[] => {
    if (state.depth > 0) return [{ line, text: "", issue: "The array is never closed" }];
    return text.trim() === "" ? [] : [emit(text.length)];
  };
  return { push, end };
}

type ArrayState = { depth: number; isString: boolean; isEscaped: boolean };
type ArrayEvent = "open" | "end" | "value" | undefined;

/** The effect of a character: it opens the array, ends a value, or belongs to a value; `undefined` for whitespace. */
function step(state: ArrayState, character: string): ArrayEvent {
  if (state.isString) {
    const closes = character === '"' && !state.isEscaped;
    state.isEscaped = character === "\\" && !state.isEscaped;
    state.isString = !closes;
    return "value";
  }
  if (character === '"') state.isString = true;
  if (character === "," && state.depth === 1) return "end";
  if (character === "]" && state.depth === 1) {
    state.depth = 0;
    return "end";
  }
  if (character === "[" || character === "{") state.depth++;
  if (character === "[" && state.depth === 1) return "open";
  // A stray "}" must not close the array.
  if ((character === "]" || character === "}") && state.depth > 1) state.depth--;
  return /\s/.test(character) ? undefined : "value";
}
