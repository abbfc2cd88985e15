/** Who sent a request: the session cookie is passed on to Rowhouse, and stored nowhere. */
import type { IdentityUser } from "rowhouse-client/identity";

const { ROWHOUSE_URL = "", APP_SLUG = "", ORIGIN = "" } = process.env;
const ME = `${ROWHOUSE_URL}/v1/auth/me?app=${encodeURIComponent(APP_SLUG)}`;

export const REJECTIONS = {
  401: "You are not signed in",
  403: "You have no access to this app",
  503: "The service is unavailable",
} as const;

/** The person with a role on this app, or the status of the response to send instead. */
export async function readUser(
  cookie: string | undefined,
): Promise<IdentityUser | keyof typeof REJECTIONS> {
  const headers = { cookie: cookie ?? "" };
  const signal = AbortSignal.timeout(5000);
  const response = await fetch(ME, { headers, signal }).catch(() => undefined);
  if (response?.status === 200) return (await response.json()) as IdentityUser;
  return response?.status === 401 || response?.status === 403 ? response.status : 503;
}

/** Whether a page of this app sent the request. A page cannot forge its origin. */
export function isOwnPage(method: string, origin: string | undefined): boolean {
  return method === "GET" || method === "HEAD" || origin === ORIGIN;
}
