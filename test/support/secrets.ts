/**
 * Checks that a log contains no secret: collects every key, cookie and password of requests and of the database while a test
 * service is open. The service searches its whole log when it closes.
 *
 * @module
 */
import { isUuid } from "../../src/std/patterns.ts";

/** Shorter secrets can be equal to ordinary words of a log. */
const MIN_LENGTH = 16;

export type Secrets = {
  readonly add: (secret: string | undefined) => void;
  /** Adds the credentials of a request and the cookies of its response. */
  readonly addExchange: (request: Headers, response: Headers) => void;
  /** Adds the password of a connection string, encoded and decoded. */
  readonly addUrl: (url: string) => void;
  /** @throws {Error} a line contains a secret; with the secret's first letters and the line's event */
  readonly check: (lines: readonly string[]) => void;
};

export function makeSecrets(): Secrets {
  const known = new Set<string>();
  const add = (secret: string | undefined) => {
    // Some tests send an id instead of a secret. Ids may be logged.
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
        [...known]
          .filter((secret) => line.includes(secret))
          .map((secret) => describeLeak(secret, line)),
      );
      if (found.length > 0) throw new Error(`The log holds secrets:\n${found.join("\n")}`);
    },
  };
}

function toValue(pair: string): string {
  return pair.slice(pair.indexOf("=") + 1);
}

function describeLeak(secret: string, line: string): string {
  return `  ${secret.slice(0, 6)}… in an event ${/"event":"[^"]*"/.exec(line)?.[0] ?? ""}`;
}
