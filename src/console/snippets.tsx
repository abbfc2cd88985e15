/** @jsxImportSource #html @jsxRuntime automatic */
/** Snippets for a new key: settings, a shell, a program. @module */
import type { Html } from "../pages/mod.ts";
import type { Scope } from "../principal.ts";
import { quoteForShell } from "../std/quote_for_shell.ts";
import type { Visit } from "./enter.tsx";
import { renderSnippet } from "./parts.tsx";

/** The address of the API for programs: browsers resolve names below `localhost`, most programs do not. */
export function toApiUrl({
  deps,
  context,
}: Pick<Visit, "context"> & { deps: Pick<Visit["deps"], "identity"> }): string {
  const { publicUrl, identityUrl } = deps.identity;
  const url = publicUrl ?? identityUrl ?? new URL(context.request.url).origin;
  return url.replace(/^http:\/\/[^/:]+\.localhost(?=[:/]|$)/, "http://localhost");
}

export type Snippet = { name: string; text: string };

/** The placeholder for a table's name if the app has no table. */
export const NO_TABLE = "your_table";

/** Snippets to paste, for a table of the app if it has one. */
export function makeSnippets(options: {
  url: string;
  key: string;
  scopes: readonly Scope[];
  table: string | undefined;
}): Snippet[] {
  const { url, key, scopes, table = NO_TABLE } = options;
  const path = scopes.includes("data:read") ? `/v1/data/db/${table}` : "/v1/data/schema";
  return [
    { name: ".env", text: `ROWHOUSE_URL=${url}\nROWHOUSE_API_KEY=${key}` },
    {
      name: "curl",
      text: `curl -sS ${quoteForShell(url + path)} -H ${quoteForShell(`Authorization: Bearer ${key}`)}`,
    },
    ...(scopes.some((scope) => scope.startsWith("data:")) ? [toProgram({ url, table })] : []),
  ];
}

/** Reads the key from the environment, because programs are committed. */
function toProgram({ url, table }: { url: string; table: string }): Snippet {
  return {
    name: "SDK",
    text: `import { env } from "node:process";
import { createDataClient } from "rowhouse/data";
import schema from "./schema/mod.ts";

const db = createDataClient({
  baseUrl: ${JSON.stringify(url)},
  apiKey: env.ROWHOUSE_API_KEY ?? "",
  schema,
});
const { rows } = await db.${table}.list();`,
  };
}

/** The command that pushes a first table. */
export function renderPushHint(visit: Visit): Html {
  return (
    <>
      <p>
        In your project directory, with a key that can push in <code>.env</code>:
      </p>
      {renderSnippet({
        id: "push-command",
        name: "the command",
        text: `ROWHOUSE_URL=${quoteForShell(toApiUrl(visit))} rowhouse db push`,
      })}
    </>
  );
}
