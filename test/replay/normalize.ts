/**
 * Responses of two programs, made comparable: what a program draws at random (ids, times, cursors, tags, tokens) must be
 * in both at the same places, and stand for the same value of the other each time; and what names the program (its version, the addresses of its assets) by a word. Pure.
 *
 * @module
 */

export type Exchange = { status: number; headers: Headers; text: string };
/** `drawn`: the values that are replaced in the headers and the body. */
export type Comparable = {
  status: number;
  headers: readonly string[];
  body: string;
  drawn: readonly string[];
};

/** Headers that measure time or the way of the bytes. */
const VARYING = new Set([
  ...["date", "content-length", "transfer-encoding", "connection", "keep-alive"],
  ...["ratelimit", "ratelimit-policy", "retry-after", "x-request-id", "server-timing"],
]);

/** What a program draws, in the order in which the patterns apply. */
const DRAWN: readonly [string, RegExp][] = [
  ["key", /\b[a-z0-9]+_[a-z0-9]{16}\.[0-9A-Za-z]{49}\b/g],
  ["checksum", /\bsha256:[0-9a-f]{64}\b/g],
  ["id", /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g],
  ["time", /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:?\d\d)?/g],
  [
    "key id",
    /(?<=opened rows:.{0,80}<bdi>|keyId(?:"|&quot;)*: (?:"|&quot;)*|name="key_id" value=")[a-z0-9]{16}\b/g,
  ],
  ["tag", /(?<=")[0-9a-f]{32}(?=(?:-<coding>)?")/g],
  ["cursor", /(?<=(?:"next":"|[?&](?:amp;)?after=))[\w-]{8,}(?:%3D)*/g],
];

/** What names the program, its build or this run. */
const NAMED: readonly [RegExp, string][] = [
  [/(?<="requestId":")[0-9a-f-]{36}/g, "<request>"],
  // Also of milliseconds, of which two events of one program can have the same.
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:?\d\d| UTC)/g, "<time>"],
  [/\b(?:(?:rowhouse\.)?localhost|127\.0\.0\.1):\d+/g, "<host>"],
  [/(?<=-)(?:gzip|br|zstd)(?=")/g, "<coding>"],
  [/(?<=data-cursor=")[^"]+/g, "<cursor>"],
  // A QR code, its secret, and a link with a token.
  [/(?<=<path d=")M4 4h7v1[^"]+/g, "<squares>"],
  [/(?<=\bsecret=|<code class="key">)[A-Z2-7 ]{16,}/g, "<secret>"],
  [/(?<=name="sealed" value=")[^"]+/g, "<sealed>"],
  [/(?<=[?]token=)[a-z0-9]{16}\.[\w-]+/g, "<token>"],
  [/\b0\.\d+\.\d+ \(tables \d+, code [0-9a-f]+\)/g, "<version>"],
  [/(?<=\browhouse[ -]|client[ -]|"version":")0\.\d+\.\d+/gi, "<version>"],
  [/(?<=\/assets\/[\w./-]*?)[-.][0-9a-z]{8,}(?=\.(?:js|css|svg|png|woff2))/g, "<build>"],
  [/\?v=[0-9a-f]+/g, "<build>"],
  [/(?<=set-cookie: [\w-]+=)[^;]+/g, "<secret>"],
  // Until the contract step, a table has the indexes of both releases.
  [/(?<=data-label="Size">)[^<]+|(?<=,)\d{5,7}(?=\r\n)/g, "<size>"],
  // Counts of whole minutes.
  [/(?<=<dd class="stat-(?:value|detail)">)[^<]+/g, "<count>"],
  [/(?<=id="reference">)[0-9a-f]+/g, "<request>"],
  [/(?<=challenge&quot;:&quot;)[\w-]+/g, "<challenge>"],
  [/sha256-[\w+/=]{40,}/g, "<hash>"],
  [/nonce-[\w+/=]+|(?<=nonce=")[^"]+/g, "<nonce>"],
  [/(?<=(?:form_token|form-token)[^>]{0,40}(?:value|content)=")[^"]+/g, "<token>"],
  [/\b\d+ (?:second|minute)s? ago\b|\bjust now\b|\bless than a minute ago\b/g, "<ago>"],
];

/** The pairs of values that stand for each other, by kind: one of each program. */
export type Pairs = Map<string, string>;

export function makeComparable({ status, headers, text }: Exchange): Comparable {
  const drawn: string[] = [];
  const mark = (value: string) => markDrawn(name(value), drawn);
  const listed = [...headers]
    .filter(([header]) => !VARYING.has(header))
    .map(([header, value]) => `${header}: ${value}`)
    .sort();
  return { status, headers: listed.map(mark), body: mark(text), drawn };
}

/** Whether two responses are the same but for drawn values, and each of these stands for the same one as before. */
export function isSame(theirs: Comparable, ours: Comparable, pairs: Pairs): boolean {
  const { drawn: left, ...before } = theirs;
  const { drawn: right, ...after } = ours;
  if (!Bun.deepEquals(before, after) || left.length !== right.length) return false;
  return left.every((value, nth) => isPair(value, right[nth] ?? "", pairs));
}

function isPair(theirs: string, ours: string, pairs: Pairs): boolean {
  const [known, back] = [pairs.get(`their ${theirs}`), pairs.get(`our ${ours}`)];
  if (known === undefined && back === undefined) {
    pairs.set(`their ${theirs}`, ours).set(`our ${ours}`, theirs);
    return true;
  }
  return known === ours && back === theirs;
}

function name(text: string): string {
  return NAMED.reduce((named, [pattern, word]) => named.replace(pattern, word), text);
}

function markDrawn(text: string, drawn: string[]): string {
  return DRAWN.reduce(
    (marked, [kind, pattern]) =>
      marked.replace(pattern, (value) => {
        drawn.push(`${kind} ${value}`);
        return `<${kind}>`;
      }),
    text,
  );
}
