/** The name of a browser, such as `Firefox on Linux`. Contains only names of these tables, no text of the header. @module */

/** The first match counts: most browsers also name others. */
const BROWSERS = [
  ["Edg", "Edge"],
  ["OPR/", "Opera"],
  ["SamsungBrowser/", "Samsung Internet"],
  ["Firefox/", "Firefox"],
  ["FxiOS/", "Firefox"],
  ["Chrome/", "Chrome"],
  ["CriOS/", "Chrome"],
  ["Safari/", "Safari"],
] as const;
const SYSTEMS = [
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["Android", "Android"],
  ["Windows", "Windows"],
  ["CrOS", "ChromeOS"],
  ["Mac OS X", "macOS"],
  ["Linux", "Linux"],
] as const;

const UNKNOWN = "Unknown browser";

export function toDeviceName(userAgent: string | null): string {
  const text = userAgent ?? "";
  const browser = findName(BROWSERS, text) ?? UNKNOWN;
  const system = findName(SYSTEMS, text);
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** Whether {@linkcode toDeviceName} can return the text. A stolen login can store other texts. */
export function isDeviceName(text: string): boolean {
  const [browser = "", system] = text.split(" on ");
  const isBrowser = browser === UNKNOWN || isNameOf(BROWSERS, browser);
  return isBrowser && (system === undefined || isNameOf(SYSTEMS, system));
}

type Names = readonly (readonly [sign: string, name: string])[];

function isNameOf(table: Names, text: string): boolean {
  return table.some(([, name]) => name === text);
}

function findName(table: Names, text: string): string | undefined {
  return table.find(([sign]) => text.includes(sign))?.[1];
}
