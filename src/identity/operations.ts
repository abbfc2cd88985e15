/** What the identity endpoints say of themselves, beside their routes. @module */
import type { JsonSchema, Operation } from "../http/mod.ts";
import { ROLE_PATTERN, SLUG_PATTERN } from "../std/stored_text.ts";

const USER: JsonSchema = {
  type: "object",
  properties: {
    id: {
      type: "string",
      format: "uuid",
      description: "The person's id. It never changes; the address and the name may.",
    },
    email: {
      type: "string",
      format: "email",
      description: "The address with which the person signs in.",
    },
    displayName: {
      type: ["string", "null"],
      description: "The name to show; null if the person has none.",
    },
    avatarUrl: {
      type: ["string", "null"],
      description: "The address of a picture of the person, if there is one.",
    },
    role: {
      type: ["string", "null"],
      description: `The role on the app that was asked about, such as \`editor\`; of administrators, \`admin\`. Null if no app was named. Pattern: \`${ROLE_PATTERN}\`.`,
    },
  },
  required: ["id", "email", "displayName", "avatarUrl", "role"],
};

export const OPERATIONS = {
  me: {
    id: "get_me",
    group: "identity",
    summary: "Get the person who is signed in, and the person's role on an app",
    parameters: [
      {
        in: "query",
        name: "app",
        description: "The app's name; who has no role on it is refused.",
        schema: { type: "string", pattern: SLUG_PATTERN },
      },
    ],
    answers: [{ status: 200, when: "The person.", bodies: [USER] }],
    problems: ["invalid_request", "unauthenticated", "unknown_app", "forbidden"],
  },
  logout: {
    id: "sign_out",
    group: "identity",
    summary: "Sign out, on all apps",
    answers: [{ status: 204, when: "Signed out, or there was no session." }],
    problems: ["forbidden"],
  },
} as const satisfies Record<string, Operation>;
