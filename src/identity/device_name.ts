/** What people call the browser that they signed in with. Only words of these tables: nothing that a browser sent is kept. @module */

/** The first that occurs counts: most browsers name others too. */
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

/** Such as `Firefox on Linux`, from a `User-Agent` header. */
export function toDeviceName(userAgent: string | null): string {
  const text = userAgent ?? "";
  const browser = findName(BROWSERS, text) ?? "Unknown browser";
  const system = findName(SYSTEMS, text);
  return system === undefined ? browser : `${browser} on ${system}`;
}

function findName(
  table: readonly (readonly [sign: string, name: string])[],
  text: string,
): string | undefined {
  return table.find(([sign]) => text.includes(sign))?.[1];
}
