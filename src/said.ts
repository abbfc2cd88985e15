/** Sentences with values from users, without markup: a page isolates and marks each value. @module */

/** A value within a sentence. A link leads to a page beside the form, or with a slash to a page of the Console. */
export type Mark =
  | { name: string }
  | { code: string }
  | { value: string }
  | { at: string | null }
  | { link: string; to: string };
/** A paragraph. A quiet one is less important. */
export type Said = { parts: readonly (string | Mark)[]; isQuiet: boolean };

/** A paragraph. Other texts than the marks are the program's own. */
export function say(
  texts: TemplateStringsArray,
  ...marks: readonly (string | number | Mark)[]
): Said {
  const parts = texts.flatMap((text, index) => {
    const mark = marks[index] ?? "";
    return [text, typeof mark === "object" ? mark : String(mark)];
  });
  return { parts, isQuiet: false };
}

export function sayQuietly(...said: Parameters<typeof say>): Said {
  return { ...say(...said), isQuiet: true };
}
