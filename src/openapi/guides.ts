/** The pages of `docs/` that a service serves, and their descriptions in its index. @module */
import { readFileSync } from "node:fs";

export const LLMS_PATH = "/llms.txt";

type Described = { readonly page: string; readonly title: string; readonly about: string };

/** For people who build an app, in reading order. */
export const GUIDES = [
  { page: "tutorial", title: "Tutorial", about: "build your own app, step by step" },
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
    about: "rename, retype and drop pushed tables and columns",
  },
  { page: "ci", title: "Checks in CI", about: "a schema in pull requests and deployments" },
  {
    page: "rows",
    title: "Rows in and out",
    about: "import and export CSV or JSON; move an app to another service",
  },
  {
    page: "moving",
    title: "Moving",
    about: "from a table of PostgreSQL, from PocketBase or Supabase",
  },
  {
    page: "limits",
    title: "What Rowhouse does not do",
    about: "files, webhooks, schedules, joins and others, and what to do instead",
  },
  {
    page: "identity",
    title: "Identity",
    about: "hosts, people, roles, endpoints, protection of accounts",
  },
  { page: "node", title: "Node", about: "a server with Hono or Express: sessions, rows, errors" },
  { page: "react", title: "React", about: "sign-in with useSession, rows with TanStack Query" },
  { page: "python", title: "Python", about: "rows with httpx or a generated client, sessions" },
  {
    page: "versioning",
    title: "Versions",
    about: "what can change, and how clients learn about it",
  },
] as const satisfies readonly Described[];

/** For people who run or study a service. */
export const OPERATORS_GUIDES = [
  { page: "console", title: "The Console", about: "administration in a browser" },
  {
    page: "operating",
    title: "Operating",
    about: "production from an empty machine, settings, keys, upgrades, backup",
  },
  { page: "scaling", title: "Scaling", about: "a database on several machines" },
  { page: "security", title: "Security", about: "what each credential can do" },
  { page: "figures", title: "Figures", about: "performance, and the machines it was measured on" },
  { page: "architecture", title: "Architecture", about: "the code, from request to row" },
] as const satisfies readonly Described[];

export type Guide = (typeof GUIDES | typeof OPERATORS_GUIDES)[number];

export const ALL_GUIDES: readonly Guide[] = [...GUIDES, ...OPERATORS_GUIDES];

const FOLDER = new URL("../../docs/", import.meta.url);

export function readGuide({ page }: Guide): string {
  return readFileSync(new URL(`${page}.md`, FOLDER), "utf8");
}

export function toGuidePath(page: Guide["page"]): string {
  return `/docs/${page}`;
}

export function toMarkdownPath(page: Guide["page"]): string {
  return `/docs/${page}.md`;
}
