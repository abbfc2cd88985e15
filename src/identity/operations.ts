/** OpenAPI descriptions of the identity endpoints. @module */
import type { JsonSchema, Operation } from "../http/mod.ts";
import { ROLE_PATTERN, SLUG_PATTERN } from "../std/stored_text.ts";

const USER: JsonSchema = {
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
    answers: [{ status: 200, when: "The person.", bodies: [USER] }],
    problems: ["invalid_request", "unauthenticated", "unknown_app", "forbidden"],
  },
  logout: {
    id: "sign_out",
    group: "identity",
    summary: "Sign out of all apps",
    answers: [{ status: 204, when: "Signed out, or there was no session." }],
    problems: ["forbidden"],
  },
} as const satisfies Record<string, Operation>;
