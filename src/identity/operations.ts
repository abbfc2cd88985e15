/** OpenAPI descriptions of the identity endpoints. @module */
import * as v from "valibot";
import { type Operation, ProblemBody } from "../http/mod.ts";
import { MAX_PEOPLE, PERSON_KEY_LIFE_S } from "../std/limits.ts";
import { ROLE_PATTERN, SLUG_PATTERN } from "../std/patterns.ts";

const Id = v.pipe(
  v.string(),
  v.uuid(),
  v.description("The person's id. It never changes. The address and the name can change."),
);
const DisplayName = v.pipe(v.nullable(v.string()), v.description("The display name, or null."));
const AvatarUrl = v.pipe(
  v.nullable(v.string()),
  v.description("The URL of the person's picture, or null."),
);

/** The body of `me`. */
export const UserBody = v.object({
  id: Id,
  email: v.pipe(
    v.string(),
    v.email(),
    v.description("The person's email address, used to sign in."),
  ),
  displayName: DisplayName,
  avatarUrl: AvatarUrl,
  role: v.pipe(
    v.nullable(v.string()),
    v.description(
      `The person's role on the app, such as \`editor\`. Administrators have \`admin\`. Null without \`app\`. Pattern: \`${ROLE_PATTERN}\`.`,
    ),
  ),
});
export type UserBody = v.InferOutput<typeof UserBody>;

/** The body of an exchange. */
export const SessionKeyBody = v.object({
  key: v.pipe(
    v.string(),
    v.description(
      "The key, for `Authorization: Bearer` on requests for rows. Keep it in memory only.",
    ),
  ),
  expiresInS: v.pipe(
    v.number(),
    v.integer(),
    v.description(
      `For how many seconds the key works: max ${PERSON_KEY_LIFE_S}. It ends earlier if the session ends or the role changes.`,
    ),
  ),
  user: v.pipe(UserBody, v.description("The person, as `GET /v1/auth/me` returns it.")),
});
export type SessionKeyBody = v.InferOutput<typeof SessionKeyBody>;

export const PeopleBody = v.object({
  people: v.pipe(
    v.array(
      v.object({
        id: Id,
        displayName: DisplayName,
        avatarUrl: AvatarUrl,
        role: v.pipe(
          v.string(),
          v.description(
            `The role on the app, such as \`editor\`. Administrators have \`admin\`. Pattern: \`${ROLE_PATTERN}\`.`,
          ),
        ),
      }),
    ),
    v.maxLength(MAX_PEOPLE),
    v.description("People with a role on the app who are not disabled."),
  ),
  next: v.pipe(
    v.nullable(v.pipe(v.string(), v.uuid())),
    v.description("`after` of the next page; null on the last page."),
  ),
});
export type PeopleBody = v.InferOutput<typeof PeopleBody>;

/** The body of an error: only the code, and `request_failed` for every error of the service. */
export const ShortProblemBody = v.pick(ProblemBody, ["error"]);
export type ShortProblemBody = v.InferOutput<typeof ShortProblemBody>;

export const OPERATIONS = {
  me: {
    id: "get_me",
    group: "identity",
    summary: "Get the signed-in person and their role on an app",
    parameters: [
      {
        in: "query",
        name: "app",
        description: "The app's name. Returns 403 if the person has no role on the app.",
        schema: { type: "string", pattern: SLUG_PATTERN },
      },
    ],
    responses: [{ status: 200, when: "The person.", bodies: [UserBody] }],
    problems: ["invalid_request", "unauthenticated", "unknown_app", "forbidden"],
  },
  people: {
    id: "list_people",
    group: "identity",
    summary: "List the people with a role on an app, for a person who has a role on it",
    parameters: [
      {
        in: "query",
        name: "app",
        description: "The app's name. An administrator must have turned on its list of people.",
        schema: { type: "string", pattern: SLUG_PATTERN },
        isRequired: true,
      },
      {
        in: "query",
        name: "after",
        description: "`next` of the previous page.",
        schema: { type: "string", format: "uuid" },
      },
      {
        in: "query",
        name: "limit",
        description: `Max people per page; reduced to ${MAX_PEOPLE} if higher.`,
        schema: { type: "integer", minimum: 1, maximum: 999_999_999, default: MAX_PEOPLE },
      },
    ],
    responses: [{ status: 200, when: "The people, by id.", bodies: [PeopleBody] }],
    problems: ["invalid_request", "unauthenticated", "unknown_app", "forbidden"],
  },
  sessionKey: {
    id: "open_session_key",
    group: "identity",
    summary:
      "Exchange the session for a key to the rows of an app, on the host of the sign-in pages",
    parameters: [
      {
        in: "query",
        name: "app",
        description: "The app's name. The page must have an origin of this app.",
        schema: { type: "string", pattern: SLUG_PATTERN },
        isRequired: true,
      },
    ],
    bodies: [{ type: "object" }],
    responses: [{ status: 200, when: "The key and the person.", bodies: [SessionKeyBody] }],
    problems: [
      "invalid_request",
      "unsupported_media_type",
      "unauthenticated",
      "unknown_app",
      "forbidden",
      "rate_limited",
    ],
  },
  logout: {
    id: "sign_out",
    group: "identity",
    summary: "Sign out of all apps",
    responses: [{ status: 204, when: "Signed out, or there was no session." }],
    problems: ["forbidden"],
  },
} as const satisfies Record<string, Operation>;
