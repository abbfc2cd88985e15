/** The rate limit headers of a response: the remaining requests, and when to retry. @module */

const NAME = /^(ratelimit|retry-after)/;

export function limitHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => NAME.test(name)));
}
