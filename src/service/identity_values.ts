/**
 * What was made with which identity secret: sessions, links and passwords are counted by the id stored with them, so that
 * no secret is removed from the settings while somebody depends on it.
 *
 * @module
 */
import { makeIdentitySecrets } from "../accounts/mod.ts";
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import type { Finding } from "./finding.ts";

/** How many live values one secret has. */
export type IdentityValues = {
  secretId: string;
  passwords: number;
  sessions: number;
  links: number;
  providerLinks: number;
};

/** What the secrets in the settings are still needed for, and what was made with others. */
export async function examineIdentitySecrets(
  admin: Database,
  texts: readonly string[],
): Promise<Finding[]> {
  const ids = makeIdentitySecrets(texts).all.map(({ id }) => id);
  return judgeIdentitySecrets(ids, await countValues(admin));
}

/** `ids` are those of the settings, the one that makes new values first. */
export function judgeIdentitySecrets(
  ids: readonly string[],
  counted: readonly IdentityValues[],
): Finding[] {
  const about = "identity secret";
  const older = ids.slice(1).map((id) => {
    const values = counted.find(({ secretId }) => secretId === id);
    return values === undefined ? toUnused(id) : toNeeded(values);
  });
  const lost = counted.filter(({ secretId }) => !ids.includes(secretId)).map(toLost);
  const findings = [...older, ...lost];
  return findings.length > 0
    ? findings
    : [{ about, level: "ok", says: "made every password, session and link that there is" }];
}

function toUnused(id: string): Finding {
  const says = `${id} has made nothing that is still there: it can be taken out of IDENTITY_SECRET`;
  return { about: "identity secret", level: "ok", says };
}

function toNeeded(values: IdentityValues): Finding {
  return {
    about: "identity secret",
    level: "warn",
    says: `${values.secretId} is still needed for ${describe(values)}`,
    remedy:
      "keep it in IDENTITY_SECRET after the first: a password is made anew when its owner signs in, or sets it by a link of rowhouse admin password-link",
  };
}

function toLost(values: IdentityValues): Finding {
  return {
    about: "identity secret",
    level: "warn",
    says: `${values.secretId} is not in IDENTITY_SECRET, and ${describe(values)} can be used only with it`,
    remedy:
      "add it to IDENTITY_SECRET after the first; if it is lost, give those people new links: rowhouse admin password-link",
  };
}

function describe({ passwords, sessions, links, providerLinks }: IdentityValues): string {
  const parts = [
    [passwords, "password"],
    [sessions, "session"],
    [links, "link"],
    [providerLinks, "provider link"],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}${count === 1 ? "" : "s"}`)
    .join(", ");
}

async function countValues(admin: Database): Promise<IdentityValues[]> {
  return await admin.query<IdentityValues>(
    `select secret_id as "secretId", sum(passwords)::int4 as passwords, sum(sessions)::int4 as sessions,
      sum(links)::int4 as links, sum(provider_links)::int4 as "providerLinks"
    from (
      select password_secret_id as secret_id, 1 as passwords, 0 as sessions, 0 as links, 0 as provider_links
      from rowhouse.users where password_secret_id is not null
      union all select secret_id, 0, 1, 0, 0 from rowhouse.sessions where expires_at > now()
      union all select secret_id, 0, 0, 1, 0 from rowhouse.password_links where expires_at > now()
      union all select secret_id, 0, 0, 0, 1 from rowhouse.provider_links
    ) as made group by secret_id order by secret_id`,
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
}
