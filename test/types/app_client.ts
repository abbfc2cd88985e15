/** The types of the clients for people: of pages, of servers and of tests. Compiled by `tsc`, never run. @module */
import { defineSchema, type Insert, t } from "../../src/schema/mod.ts";
import { createAppClient } from "../../src/sdk/app.ts";
import { useSession } from "../../src/sdk/react.ts";
import { createServerClient } from "../../src/sdk/server.ts";
import { person } from "../../src/sdk/testing.ts";

const schema = defineSchema({
  todos: t
    .model({ title: t.string().required(), owner: t.uuid().required().owner() })
    .allow("member", { read: true, create: true }),
});
const hosts = {
  url: "https://api.example.org",
  identityUrl: "https://id.example.org",
  app: "wiki",
};
const app = createAppClient({ ...hosts, schema });

/** A hook of React accepts the client, and narrows its session. */
export function Name(): string | null {
  const session = useSession(app);
  return session.status === "authenticated" ? session.user.displayName : null;
}

/** The parts of a session, before it is known. */
export function Role(): string | null | undefined {
  const { status, user } = useSession(app);
  return status === "forbidden" ? "none" : user?.role;
}

/** The service fills a required owner. */
export const values: Insert<typeof schema, "todos"> = { title: "Milk" };
export const created = async (): Promise<string> => (await app.db.todos.create(values)).owner;
// @ts-expect-error a misspelled column does not exist
export const wrong = () => app.db.todos.create({ titel: "Milk" });
// @ts-expect-error a page has no API key
export const keyed = createAppClient({ ...hosts, apiKey: "rh_key" });

/** A page that imports only the type does not ship the rules. */
export const typed = createAppClient<typeof schema>(hosts).db.todos.list;

export async function respond(request: Request): Promise<string> {
  const { user, db } = await createServerClient({ ...hosts, schema }).verify(request);
  const { rows } = await db.todos.list();
  return `${user.role}: ${rows[0]?.title}`;
}

export async function test(): Promise<void> {
  const { db } = await person({ role: "member", schema });
  await db.todos.create({ title: "Milk" });
  // @ts-expect-error a person has a role
  await person({ schema });
}
