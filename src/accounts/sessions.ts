/**
 * Sessions: found by what a browser presents, ended by sign-out. Nothing is cached, so a revocation takes effect at once; of
 * a secret only its proof is known here.
 *
 * @module
 */
import { type Database, echoColumn, SERVICE_QUEUE } from "../db/mod.ts";
import { STORED_GRANT, type StoredGrant, toGrantedRole } from "./claimed_roles.ts";
import type { IdentitySecrets } from "./identity_secrets.ts";

type SessionDeps = {
  db: Database;
  sessionIdleS: number;
  identitySecrets: IdentitySecrets;
  /** Whether people can sign in with the provider of this name. */
  hasProvider: (name: string) => boolean;
};

/** What the database found for the presented sessions: two live ones count as none. */
export type Presence = { isConflict: boolean };

export type Me = Presence & {
  user: IdentityUser | undefined;
  /** Whether the app that was asked about exists, and is not disabled. */
  isAppKnown: boolean;
};

/** The user as the identity endpoints return it. */
export type IdentityUser = {
  id: string;
  email: string;
  displayName: string | null;
  avatarUrl: string | null;
  role: string | null;
};

export type VisitorApp = { slug: string; role: string; url: string | null };
export type Visitor = {
  id: string;
  email: string;
  displayName: string | null;
  isAdministrator: boolean;
  /** By when a second factor must be there; null: none is asked for, or there is one. */
  factorDueAt: string | null;
  isFactorOverdue: boolean;
};
export type AppTargets = {
  id: string;
  slug: string;
  targets: { kind: "origin" | "redirect"; url: string; origin: string }[];
};
export type PageSession = Presence & {
  visitor: Visitor | undefined;
  /** The app that was asked about. */
  app: AppTargets | undefined;
  /** The apps that the visitor may open. */
  apps: VisitorApp[];
};

/** The `id` and `proof` of each presented session, from the text that `toPresented` made of them. */
function presentedIn(parameter: "$3"): string {
  return `(select distinct split_part(text, '.', 1) as id, decode(split_part(text, '.', 2), 'hex') as proof
    from unnest(string_to_array(${parameter}, ',')) as text)`;
}

/** What a session stores for its own cookie, with `presented` naming what was presented. */
function digestOf(presented: string, session = "sessions"): string {
  return `sha256(${presented}.proof || uuid_send(${session}.user_id))`;
}

const GRANT_ON_APP = `(select ${STORED_GRANT} from rowhouse.grants
    where grants.user_id = users.id and grants.app_id = apps.id)`;

/** What says which role somebody has on an app. */
type RoleSource = { isAdministrator: boolean; appId: string; grant: StoredGrant | null };

/**
 * A Console role makes a person admin on every app. What a provider's claim gave counts while there is that provider: without
 * its settings no sign-in could take the role again.
 */
function toRole(
  { identitySecrets, hasProvider }: SessionDeps,
  userId: string,
  { isAdministrator, appId, grant }: RoleSource,
): string | undefined {
  if (isAdministrator) return "admin";
  if (grant === null) return undefined;
  const [, provider] = grant;
  if (provider !== null && !hasProvider(provider)) return undefined;
  return toGrantedRole(identitySecrets, { userId, appId }, grant);
}

type MeRow = {
  live: number;
  is_app_known: boolean;
  /** The session that counts, if one does, and the app that was asked about. */
  session: string | null;
  asked: string | null;
  person: string | null;
};

/** Whether a session is one of those that are presented; none does not tell. */
function isPresented(presented: string, session: string | null): boolean | undefined {
  if (session === null) return undefined;
  return presented.split(",").some((text) => text.split(".")[0] === session);
}

/**
 * Who presents these sessions, and the role on the app with this slug, if one is asked about. Where a second factor is
 * demanded of everybody, whoever has put it off for too long is nobody.
 */
export async function readMe(
  deps: SessionDeps,
  presented: string,
  { slug, demandsFactor }: { slug: string | undefined; demandsFactor: boolean },
): Promise<Me> {
  const [row] = await deps.db.query<MeRow>(
    `select one.live, apps.id is not null as is_app_known, one.session_id as session, $3::text as asked,
      (select json_build_object('id', users.id, 'email', users.email, 'displayName', users.display_name,
        'avatarUrl', users.avatar_url, 'on', case when apps.id is not null then json_build_object('appId', apps.id,
          'isAdministrator', users.console_role is not null, 'grant', ${GRANT_ON_APP}) end)::text
      from rowhouse.users where users.id = one.person_id
        and case when $4::bool then not rowhouse.is_factor_overdue(users.id) else true end) as person,
      ${echoColumn(5)}
    from rowhouse.find_session($1, $2) as one left join rowhouse.apps on apps.slug = $3::text and apps.disabled_at is null`,
    [presented, deps.sessionIdleS, slug ?? null, demandsFactor],
    {
      retry: "safe",
      queue: SERVICE_QUEUE,
      isOwn: ([found]) => found?.asked === (slug ?? null) && isPresented(presented, found.session),
    },
  );
  return {
    isConflict: (row?.live ?? 0) > 1,
    isAppKnown: row?.is_app_known === true,
    user: row?.person == null ? undefined : toUser(deps, row.person),
  };
}

type MePerson = Omit<IdentityUser, "role"> & { on: RoleSource | null };

function toUser(deps: SessionDeps, text: string): IdentityUser {
  const { on, ...person } = JSON.parse(text) as MePerson;
  return { ...person, role: (on && toRole(deps, person.id, on)) ?? null };
}

export type PageCookies = { session: string; identity: string };

/** Who visits the identity pages, which require both cookies of one session; and the app with this slug, if one is named. */
export async function readPageSession(
  deps: SessionDeps,
  cookies: PageCookies,
  slug?: string,
): Promise<PageSession> {
  const [row] = await deps.db.query<{
    live: number;
    visitor: string | null;
    app: string | null;
    apps: string;
  }>(
    `with one as materialized (
      select live, session_id, person_id as user_id, identity_digest from rowhouse.find_session($1, $2)
    ), visitor as (
      select users.* from one
      join ${presentedIn("$3")} as pair on pair.id = one.session_id and one.identity_digest = ${digestOf("pair", "one")}
      join (select id, email, display_name, console_role from rowhouse.users) as users on users.id = one.user_id
    )
    select (select live from one) as live,
      (select json_build_object('id', id, 'email', email, 'displayName', display_name,
        'isAdministrator', console_role is not null,
        'factorDueAt', rowhouse.factor_due_at(id),
        'isFactorOverdue', rowhouse.is_factor_overdue(id))::text from visitor) as visitor,
      (select json_build_object('id', apps.id, 'slug', apps.slug, 'targets', coalesce(
          (select json_agg(json_build_object('kind', kind, 'url', url, 'origin', origin) order by kind, url)
          from rowhouse.targets where app_id = apps.id), '[]'))::text
        from rowhouse.apps where slug = $4 and disabled_at is null) as app,
      (select coalesce(json_agg(open_apps order by slug), '[]')::text from (
        select apps.slug, apps.id as "appId", users.console_role is not null as "isAdministrator", ${GRANT_ON_APP} as "grant",
          (select min(origin) from rowhouse.targets where app_id = apps.id) as url
        from visitor as users cross join rowhouse.apps
        where $4 is null and apps.disabled_at is null and (users.console_role is not null
          or exists (select from rowhouse.grants where grants.user_id = users.id and grants.app_id = apps.id))
      ) as open_apps) as apps`,
    [cookies.session, deps.sessionIdleS, cookies.identity, slug ?? null],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  const visitor = row?.visitor == null ? undefined : (JSON.parse(row.visitor) as Visitor);
  const listed = JSON.parse(row?.apps ?? "[]") as (Omit<VisitorApp, "role"> & RoleSource)[];
  return {
    isConflict: (row?.live ?? 0) > 1,
    visitor,
    app: row?.app == null ? undefined : (JSON.parse(row.app) as AppTargets),
    apps: listed.flatMap(({ slug, url, ...on }) => {
      const role = visitor && toRole(deps, visitor.id, on);
      return role === undefined ? [] : [{ slug, role, url }];
    }),
  };
}

/** Ends every session that is presented with either of its secrets; only the entry in the audit log is left. */
export async function endSessions(
  deps: { db: Database },
  { presented, from }: { presented: string; from: string },
): Promise<void> {
  await deps.db.query("select from rowhouse.sign_out($1, $2)", [presented, from], {
    retry: "unsafe",
    queue: SERVICE_QUEUE,
  });
}

/**
 * Ends all sessions of the person whose session is presented with both its cookies, and the sign-ins that wait for a second
 * factor.
 */
export async function endSessionsEverywhere(
  deps: { db: Database },
  { session, identity, from }: PageCookies & { from: string },
): Promise<void> {
  await deps.db.query(
    "select from rowhouse.sign_out_everywhere($1, $2, $3)",
    [session, identity, from],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
}
