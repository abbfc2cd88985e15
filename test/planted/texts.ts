/** The texts in which errors are planted. @module */
import { existsSync, readFileSync } from "node:fs";
import type { PlantedError } from "./errors.ts";

/** The errors that cannot be planted: their text does not occur once, the new file exists, or there is no such test. */
export function findTexts(errors: readonly PlantedError[]): string[] {
  return errors.flatMap(({ name, file, text, test }) => {
    if (!existsSync(test)) return [`${name}: there is no ${test}`];
    if (text === undefined) return existsSync(file) ? [`${name}: ${file} exists`] : [];
    const count = existsSync(file) ? readFileSync(file, "utf8").split(text).length - 1 : 0;
    return count === 1 ? [] : [`${name}: ${count} times in ${file}: ${text}`];
  });
}
