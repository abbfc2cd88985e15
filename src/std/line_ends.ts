/** Line ends of a text that a browser edited: its fields have only `\\n`. @module */

const LINE_END = /\r\n?|\n/;

/**
 * A text with `\\n` at its line ends, with the line ends of the text before the edit: unchanged lines keep theirs.
 *
 * @example
 * ```ts
 * expect(restoreLineEnds("a\nb\nc!", "a\r\nb\rc")).toBe("a\r\nb\rc!");
 * ```
 */
export function restoreLineEnds(typed: string, original: string): string {
  const ends = original.match(new RegExp(LINE_END, "g")) ?? [];
  if (ends.every((end) => end === "\n")) return typed;
  const before = original.split(LINE_END);
  const lines = typed.split("\n");
  const added = lines.length - before.length;
  const shorter = Math.min(lines.length, before.length);
  let start = 0;
  while (start < shorter && lines[start] === before[start]) start++;
  let rest = 0;
  while (rest < shorter - start && lines.at(-1 - rest) === before.at(-1 - rest)) rest++;
  let from = start;
  const findEnd = (line: number): string | undefined => {
    if (line < start) return ends[line];
    if (line + 1 >= lines.length - rest) return ends[line - added];
    const same = before.indexOf(lines[line] ?? "", from);
    if (same === -1 || same >= before.length - rest) return added === 0 ? ends[line] : undefined;
    from = same + 1;
    return ends[same];
  };
  const usual = findUsual(ends);
  return lines
    .map((line, index) => (index === lines.length - 1 ? line : line + (findEnd(index) ?? usual)))
    .join("");
}

/** The line end that occurs more often than the others. */
function findUsual(ends: readonly string[]): string {
  const counts = Map.groupBy(ends, (end) => end);
  const [usual = "\n"] = [...counts.keys()].toSorted(
    (a, b) => (counts.get(b)?.length ?? 0) - (counts.get(a)?.length ?? 0),
  );
  return usual;
}
