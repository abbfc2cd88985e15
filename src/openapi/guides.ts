/** The pages of `docs/` that a service hands out, and what its index says of them. @module */

export const LLMS_PATH = "/llms.txt";

type Described = { readonly page: string; readonly title: string; readonly about: string };

/** For people who build an app, in the order in which they are read. */
export const GUIDES = [
  { page: "tutorial", title: "Tutorial", about: "an app of your own, step by step" },
  { page: "data", title: "Data", about: "tables, endpoints, values, limits, errors" },
  { page: "sdk", title: "Clients", about: "the two clients, with every method and option" },
  {
    page: "push",
    title: "Pushing a schema",
    about: "changing a schema, environments, tables that apps share",
  },
  {
    page: "mistakes",
    title: "I pushed a mistake",
    about: "rename, retype and drop what a push has made",
  },
  { page: "ci", title: "Checks in CI", about: "a schema in pull requests and deployments" },
  {
    page: "rows",
    title: "Rows in and out",
    about: "rows from a CSV or JSON file, and to one; a whole app to another service",
  },
  {
    page: "moving",
    title: "Moving",
    about: "from a table of PostgreSQL, from PocketBase or Supabase",
  },
  {
    page: "identity",
    title: "Identity",
    about: "hosts, people, roles, endpoints, what protects people",
  },
  { page: "versioning", title: "Versions", about: "what may change, and how a client is told" },
] as const satisfies readonly Described[];

/** For people who run a service or look into it. */
export const OPERATORS_GUIDES = [
  {
    page: "console",
    title: "The Console",
    about: "administering it all in a browser",
  },
  {
    page: "operating",
    title: "Operating",
    about: "production from an empty machine, settings, keys, upgrades, backup",
  },
  {
    page: "scaling",
    title: "Scaling",
    about: "a database that is distributed over several machines",
  },
  { page: "security", title: "Security", about: "what each credential can do" },
  {
    page: "advisories",
    title: "Advisories",
    about: "what went wrong in similar projects, and why it does not here",
  },
  { page: "signing", title: "Signed requests", about: "requests between processes" },
  { page: "figures", title: "Figures", about: "how fast it is, and what that was measured on" },
  { page: "architecture", title: "Architecture", about: "the code, from request to row" },
] as const satisfies readonly Described[];

export type Guide = (typeof GUIDES | typeof OPERATORS_GUIDES)[number];

/** Where people read a page. */
export function toGuidePath(page: Guide["page"]): string {
  return `/docs/${page}`;
}

/** Where tools get it as Markdown. */
export function toMarkdownPath(page: Guide["page"]): string {
  return `/docs/${page}.md`;
}
