/** The address of a service, as a caller gives it to a client. Can have a path, below which a proxy serves the service. @module */

/** What cannot be in an address. A message never shows the value, which can contain a password or a token. */
const WRONG: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/^(?!https?:\/\/)/i, "it must begin with https:// or http://"],
  [/\s/, "it has a space"],
  [/\?/, "it has a query"],
  [/#/, "it has a fragment"],
  [/@/, "it has a login or an @"],
  [/\/v1\/(data|auth)(\/|$)/, "it must end before /v1"],
];

/** The URL without final slashes. @throws {TypeError} for anything but the address of a service */
export function readServiceUrl(setting: string, url: string): string {
  const why = WRONG.find(([pattern]) => pattern.test(url))?.[1] ?? findUnreadable(url);
  if (why === undefined) return url.replace(/\/+$/, "");
  throw new TypeError(
    `Cannot use this ${setting}: ${why}; expected an address such as https://api.example.org`,
  );
}

function findUnreadable(url: string): string | undefined {
  try {
    return new URL(url).hostname === "" ? "it has no host" : undefined;
  } catch {
    return "it is not a URL";
  }
}
