/** Addresses of this machine and of clients, origins, and error codes of connections. @module */

const LOOPBACK = /^(localhost|[a-z0-9-]+(\.[a-z0-9-]+)*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Returns whether a URL names one host, which is this machine. A name under `localhost` is.
 *
 * @example
 * ```ts
 * expect(isLoopback("http://api.localhost:8787")).toBe(true);
 * expect(isLoopback("postgres://me:secret@127.0.0.1:5432/wiki")).toBe(true);
 * expect(isLoopback("https://localhost.example.org")).toBe(false);
 * expect(isLoopback("postgres://localhost,db.example.org/wiki")).toBe(false);
 * ```
 */
export function isLoopback(url: string): boolean {
  try {
    // A driver that decodes the URL first finds a list of hosts behind a comma.
    return LOOPBACK.test(new URL(url).hostname) && !decodeURIComponent(url).includes(",");
  } catch {
    return false;
  }
}

// Origins of services. @see https://url.spec.whatwg.org/#origin

/**
 * Returns whether a text is an HTTP origin as browsers write it: without a path, a final slash or the default port.
 *
 * @example
 * ```ts
 * expect(isHttpOrigin("https://api.example.org")).toBe(true);
 * expect(isHttpOrigin("https://api.example.org/")).toBe(false);
 * expect(isHttpOrigin("ftp://api.example.org")).toBe(false);
 * ```
 */
export function isHttpOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, origin } = new URL(text);
  return /^https?:$/.test(protocol) && origin === text;
}

// Codes of errors from the system, the database driver and PostgreSQL.

/**
 * The code of an error, such as `ENOENT` or an SQLSTATE; `undefined` if it has none.
 *
 * @example
 * ```ts
 * expect(errorCode(Object.assign(new Error("no such file"), { code: "ENOENT" }))).toBe("ENOENT");
 * expect(errorCode(new Error("anything"))).toBeUndefined();
 * ```
 */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" ? code : undefined;
}

const CONNECT_FAILURES = new Set([
  "CONNECT_TIMEOUT",
  "ConnectionRefused",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "FailedToOpenSocket",
]);

/**
 * Returns whether an error means that no connection was opened: nothing was sent, so nothing happened. Knows the codes of the
 * system, of Bun's `fetch` and of the database driver.
 *
 * @example
 * ```ts
 * expect(isConnectFailure(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }))).toBe(true);
 * expect(isConnectFailure(Object.assign(new Error("cut"), { code: "ECONNRESET" }))).toBe(false);
 * ```
 */
export function isConnectFailure(error: unknown): boolean {
  return CONNECT_FAILURES.has(errorCode(error) ?? "");
}

/** Bun reads the variable when it starts, and ignores values above the max. */
export const FETCH_LIMIT = {
  variable: "BUN_CONFIG_MAX_HTTP_REQUESTS",
  /** Well above the streams and requests that a gateway admits. */
  min: 16_384,
  max: 65_535,
} as const;

/**
 * Whether a value of the variable is sufficient for a process that forwards requests.
 *
 * @example
 * ```ts
 * expect(isFetchLimit(String(FETCH_LIMIT.max))).toBe(true);
 * expect(isFetchLimit("256")).toBe(false);
 * expect(isFetchLimit("65536")).toBe(false);
 * ```
 */
export function isFetchLimit(text: string): boolean {
  const { min, max } = FETCH_LIMIT;
  return /^\d{1,5}$/.test(text) && Number(text) >= min && Number(text) <= max;
}

/** Hosts that mean "every address of this machine", with an address that can be called. */
const CALLABLE: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** The origin for calls from this machine. */
export function toLocalUrl(host: string, port: number): string {
  const callable = CALLABLE[host] ?? host;
  return `http://${callable.includes(":") ? `[${callable}]` : callable}:${port}`;
}
