/** The headers of a response that say what is left, or when to come again. @module */

const NAME = /^(ratelimit|retry-after)/;

export function limitHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => NAME.test(name)));
}
