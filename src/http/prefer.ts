/** The `Prefer` header: optional behavior that a client asks for. @see https://www.rfc-editor.org/rfc/rfc7240 @module */

/** Whether the request prefers this value. The first of several values counts. */
export function prefers({ headers }: Request, name: string, value: string): boolean {
  const preferences = headers.get("prefer")?.toLowerCase().split(",") ?? [];
  const named = preferences
    .map((text) => /^\s*([\w-]+)\s*=\s*"?([\w-]*)"?\s*(?:;|$)/.exec(text))
    .find((match) => match?.[1] === name);
  return named?.[2] === value;
}
