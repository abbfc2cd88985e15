/** Texts generated from tables in the code; a test compares the files with them. Pure. @module */
import { PROVIDER_SETTINGS, SETTINGS } from "../../config/mod.ts";
import { PROBLEMS } from "../../problem.ts";

type Meaning = { readonly status: number; readonly when: string; readonly ofWrite?: string };
type Setting = { readonly about: string; readonly initial?: string };

/** Every setting, those of providers with a placeholder for the name. */
const ALL_SETTINGS: readonly (readonly [string, Setting])[] = [
  ...Object.entries<Setting>(SETTINGS),
  ...Object.entries<Setting>(PROVIDER_SETTINGS).map(
    ([name, setting]) => [`OIDC_<NAME>_${name}`, setting] as const,
  ),
];

/** `.env.example`: every setting, commented out, with its default. */
export function renderEnvExample(): string {
  const parts = ALL_SETTINGS.map(
    ([name, { about, initial }]) => `# ${about}\n# ${name}=${initial ?? ""}\n`,
  );
  const variables = Object.entries(COMPOSE).map(([name, about]) => `# ${about}\n# ${name}=\n`);
  return `# Settings of Rowhouse, made by bun run generate. Copy to .env and take away the # of what you set.
# An empty value counts as unset.

${parts.join("\n")}
# What compose.yaml asks for besides: the shape that is started where no service is named, and passwords.
COMPOSE_PROFILES=single

${variables.join("\n")}`;
}

/** What compose.yaml reads and the command does not. */
export const COMPOSE = {
  PUBLISH_ADDRESS:
    "Address of this machine at which the port is published, over plain HTTP. Default: 127.0.0.1, for a proxy on this machine.",
  SUPERUSER_PASSWORD:
    "Password of PostgreSQL's superuser. Use letters and digits only, as from openssl rand -hex 24.",
  ADMIN_PASSWORD: "Password of the database administrator.",
  LOGIN_PASSWORD:
    "Password of the one process's login, or of the pooler's when there are several processes.",
  GATEWAY_PASSWORD: "Password of the gateway's login.",
  DATA_PASSWORD: "Password of the data services' login.",
  IDENTITY_PASSWORD: "Password of the login for identity, in one process and in several.",
  PUSH_PASSWORD: "Password of the login with which the one process, or the data services, push.",
  CONSOLE_PASSWORD: "Password of the login on which administrators act from a browser.",
} as const satisfies Record<string, string>;

/** The page of each generated table, which stands there between `<!-- name -->` and `<!-- /name -->`. */
export const TABLES = {
  settings: { page: "docs/operating.md", render: renderSettings },
  errors: { page: "docs/data.md", render: renderErrors },
} as const satisfies Record<string, { page: string; render: () => string }>;

/**
 * A page with its generated tables renewed.
 *
 * @throws {Error} a table has no place on its page
 */
export function renderPage(page: string, text: string): string {
  return Object.entries(TABLES)
    .filter((table) => table[1].page === page)
    .reduce((made, [name, { render }]) => {
      const place = new RegExp(`<!-- ${name} -->[\\s\\S]*?<!-- /${name} -->`);
      if (!place.test(made)) throw new Error(`${page} has no place for the table ${name}`);
      return made.replace(place, () => `<!-- ${name} -->\n${render()}\n<!-- /${name} -->`);
    }, text);
}

function renderSettings(): string {
  const rows = ALL_SETTINGS.map(
    ([name, { about, initial }]) =>
      `| \`${name}\` | ${initial ? `\`${initial}\`` : ""} | ${toCell(about)} |`,
  );
  return ["| Variable | Default | Meaning |", "|---|---|---|", ...rows].join("\n");
}

function renderErrors(): string {
  const rows = Object.entries<Meaning>(PROBLEMS).map(
    ([code, { status, when, ofWrite }]) =>
      `| ${status} | \`${code}\` | ${toCell(ofWrite === undefined ? when : `${when}; ${ofWrite}`)} |`,
  );
  return ["| Status | Code | When |", "|---|---|---|", ...rows].join("\n");
}

function toCell(text: string): string {
  return text.replaceAll("|", "\\|");
}
