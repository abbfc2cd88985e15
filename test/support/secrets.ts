/**
 * What a log must never hold: every key, cookie and password that went over the wire or into the database while a
 * service of the tests was open. Looked for when it closes, so that every run searches its whole log.
 *
 * @module
 */

import { isUuid } from "../../src/std/is_uuid.ts";

/** Shorter ones are words that a log may say by chance. */
const MIN_LENGTH = 16;

export type Secrets = {
  readonly add: (secret: string | undefined) => void;
  /** The credentials of a request, and the cookies of its response. */
  readonly addExchange: (request: Headers, response: Headers) => void;
  /** The password of a connection string, as it stands in one and by itself. */
  readonly addUrl: (url: string) => void;
  /** @throws {Error} with the first letters of what was found, and the line's event */
  readonly check: (lines: readonly string[]) => void;
};

export function makeSecrets(): Secrets {
  const known = new Set<string>();
  const add = (secret: string | undefined) => {
    // Some tests send an id where a secret belongs: an id is none.
    if (secret !== undefined && secret.length >= MIN_LENGTH && !isUuid(secret)) known.add(secret);
  };
  return {
    add,
    addExchange: (request, response) => {
      add(/^Bearer (.+)$/i.exec(request.get("authorization") ?? "")?.[1]);
      for (const pair of (request.get("cookie") ?? "").split("; ")) add(toValue(pair));
      for (const line of response.getSetCookie()) add(toValue(line.split(";")[0] ?? ""));
    },
    addUrl: (url) => {
      const { password } = new URL(url);
      if (password === "") return;
      known.add(`:${password}@`);
      add(password);
      add(decodeURIComponent(password));
    },
    check: (lines) => {
      const found = lines.flatMap((line) =>
        [...known].filter((secret) => line.includes(secret)).map((secret) => tell(secret, line)),
      );
      if (found.length > 0) throw new Error(`The log holds secrets:\n${found.join("\n")}`);
    },
  };
}

function toValue(pair: string): string {
  return pair.slice(pair.indexOf("=") + 1);
}

function tell(secret: string, line: string): string {
  return `  ${secret.slice(0, 6)}… in an event ${/"event":"[^"]*"/.exec(line)?.[0] ?? ""}`;
}
