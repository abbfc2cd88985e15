/** Cookies with JSON that is sealed with the service's secret: no other host can read or plant them. @module */
import * as v from "valibot";
import { type IdentitySecrets, type Sealing, seal, unseal } from "../accounts/secrets/mod.ts";
import { readCookies, toSetCookie } from "../http/mod.ts";
import type { RandomBytes } from "../std/random_text.ts";

export type SealDeps = { identitySecrets: IdentitySecrets; randomBytes: RandomBytes };
export type UnsealDeps = { identitySecrets: IdentitySecrets; now: () => number };

/** Sealed without an owner: the person is unknown at this point, or part of the content. */
export function makeSealedCookie<Content extends { startedAtS: number }>({
  name,
  purpose,
  schema,
  lifeS,
}: {
  name: `__Host-${string}`;
  purpose: Sealing["purpose"];
  schema: v.GenericSchema<Content>;
  lifeS: number;
}) {
  const sealing = { purpose, owner: "" };
  const toCookie = (text: string, maxAgeS: number) =>
    toSetCookie(name, text, { path: "/", maxAgeS });
  /** `undefined` if the text was not sealed by this service and release. */
  const parse = (text: string | undefined): Content | undefined => {
    const parsed = text === undefined ? undefined : v.safeParse(schema, JSON.parse(text));
    return parsed?.success === true ? parsed.output : undefined;
  };
  return {
    /** The `Set-Cookie` header, which replaces an earlier cookie of this browser. */
    set: (deps: SealDeps, content: Content): string => {
      const by = deps.identitySecrets.current;
      const sealed = seal({ by, ...sealing }, JSON.stringify(content), deps);
      return toCookie(sealed.toString("base64url"), lifeS);
    },
    clear: (): string => toCookie("", 0),
    /** The content; `undefined` if it is missing, ambiguous or expired. */
    read: (request: Request, { identitySecrets, now }: UnsealDeps): Content | undefined => {
      const [text, ...more] = readCookies(request.headers.get("cookie"), name);
      if (text === undefined || more.length > 0) return undefined;
      const bytes = Buffer.from(text, "base64url");
      for (const by of identitySecrets.all) {
        const content = parse(unseal({ by, ...sealing }, bytes));
        if (content !== undefined)
          return now() / 1000 - content.startedAtS < lifeS ? content : undefined;
      }
      return undefined;
    },
  };
}
