/** OpenAPI descriptions of the identity endpoints. @module */
import type { JsonSchema, Operation } from "../http/mod.ts";
import { MAX_PEOPLE } from "../std/limits.ts";
import { ROLE_PATTERN, SLUG_PATTERN } from "../std/stored_text.ts";

const USER = {
  type: "object",
  properties: {
    id: {
      type: "string",
      format: "uuid",
      description: "The person's id. It never changes. The address and the name can change.",
    },
    email: {
      type: "string",
      format: "email",
      description: "The person's email address, used to sign in.",
    },
    displayName: {
      type: ["string", "null"],
      description: "The display name, or null.",
    },
    avatarUrl: {
      type: ["string", "null"],
      description: "The URL of the person's picture, or null.",
    },
    role: {
      type: ["string", "null"],
      description: `The person's role on the app, such as \`editor\`. Administrators have \`admin\`. Null without \`app\`. Pattern: \`${ROLE_PATTERN}\`.`,
    },
  },
  required: ["id", "email", "displayName", "avatarUrl", "role"],
} as const satisfies JsonSchema;

const { id, displayName, avatarUrl } = USER.properties;
const PEOPLE: JsonSchema = {
  type: "object",
  properties: {
    people: {
      type: "array",
      maxItems: MAX_PEOPLE,
      description: "People with a role on the app who are not disabled.",
      items: {
        type: "object",
        properties: {
          id,
          displayName,
          avatarUrl,
          role: {
            type: "string",
            description: `The role on the app, such as \`editor\`. Administrators have \`admin\`. Pattern: \`${ROLE_PATTERN}\`.`,
          },
        },
        required: ["id", "displayName", "avatarUrl", "role"],
      },
    },
    next: {
      type: ["string", "null"],
      format: "uuid",
      description: "`after` of the next page; null on the last page.",
    },
  },
  required: ["people", "next"],
};

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
    responses: [{ status: 200, when: "The person.", bodies: [USER] }],
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
    responses: [{ status: 200, when: "The people, by id.", bodies: [PEOPLE] }],
    problems: ["invalid_request", "unauthenticated", "unknown_app", "forbidden"],
  },
  logout: {
    id: "sign_out",
    group: "identity",
    summary: "Sign out of all apps",
    responses: [{ status: 204, when: "Signed out, or there was no session." }],
    problems: ["forbidden"],
  },
} as const satisfies Record<string, Operation>;
