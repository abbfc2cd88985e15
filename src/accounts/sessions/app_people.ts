/** The people of an app, for a person with a role on it. Never reads an address of another person. @module */
import { call } from "../../db/mod.ts";
import {
  isPresented,
  type Me,
  type RoleSource,
  type SessionDeps,
  toMe,
  toRole,
} from "./sessions.ts";

export type AppPerson = {
  id: string;
  displayName: string | null;
  avatarUrl: string | null;
  role: string;
};

/** People with ids above `after`, by id. */
export type PeoplePage = { slug: string; after: string; limit: number };

export type PeopleResult = Me & {
  /** `undefined` if the app does not list its people, or the person has no role on it. */
  people: AppPerson[] | undefined;
  /** The `after` of the next page; null at the end. */
  next: string | null;
};

/** The person of these sessions, as `readMe` returns it, and a page of the enabled people with a role on the app. */
export async function readPeople(
  deps: SessionDeps,
  presented: string,
  { slug, after, limit, demandsFactor }: PeoplePage & { demandsFactor: boolean },
): Promise<PeopleResult> {
  const maxRows = limit + 1;
  const [found] = await call(
    deps.db,
    "read_people",
    {
      presented,
      idle_s: deps.sessionIdleS,
      app_slug: slug,
      demands_factor: demandsFactor,
      after_id: after,
      max_rows: maxRows,
    },
    {
      isOwn: ([row]) =>
        row !== undefined &&
        row.asked === `${slug} ${after} ${maxRows}` &&
        isPresented(presented, row.session),
    },
  );
  if (found === undefined) throw new Error("read_people returned no row");
  const me = toMe(deps, found);
  const listed = found.people as (Omit<AppPerson, "role"> & { on: RoleSource })[] | null;
  if (listed === null || (me.user?.role ?? null) === null)
    return { ...me, people: undefined, next: null };
  const page = listed.slice(0, limit);
  return {
    ...me,
    people: page.flatMap(({ on, ...person }) => {
      const role = toRole(deps, person.id, on);
      return role === undefined ? [] : [{ ...person, role }];
    }),
    next: listed.length > limit ? (page.at(-1)?.id ?? null) : null,
  };
}
