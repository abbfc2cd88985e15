/** The transfer of a table to another app: its page and its command. @module */
import type { Field } from "../../field.ts";
import { say } from "../../said.ts";
import { runAction } from "../actions/action.ts";
import { text } from "../actions/columns.ts";
import { actionOn } from "../actions/declaration.ts";

type SharedTable = {
  name: string;
  owner: string;
  /** The number of apps that use it, and who they are. */
  apps: number;
  uses: readonly { apps: readonly string[] }[];
};
export type TableSubject = { ref: string; page: { table: SharedTable }; named: { table: string } };

const MAX_CHOICES = 100;
const NEW_OWNER = {
  label: "New owner",
  hint: "An app that uses the table",
  placeholder: "slug",
  maxLength: 40,
} as const satisfies Field;

function listOthers({ owner, uses }: SharedTable): string[] {
  return uses.flatMap(({ apps }) => apps).filter((slug) => slug !== owner);
}

export const TABLE_ACTIONS = {
  transfer: actionOn<TableSubject>()({
    name: "transfer_table",
    inputs: { app: { ...NEW_OWNER, argument: "slug", example: "wiki" } },
    run: async (deps, table, { app }) => ({
      from: await runAction(deps, "transfer_table", { wanted_table: table, new_slug: app }),
      to: app,
    }),
    says: {
      title: ({ table }) => `Transfer ownership of ${table.name}`,
      effect: ({ table: { name, owner } }) =>
        say`${{ link: owner, to: `/apps/${owner}` }} owns ${{ name }}: its pushes define the table. After the transfer, the new owner's pushes do. Rows do not move, and each app still sees only its own rows.`,
      button: "Transfer ownership",
      done: { transferred: "Ownership transferred." },
      line: ({ table, from, to }) =>
        from === to ? `${to} already owns ${table}` : `Transferred ${table} from ${from} to ${to}`,
    },
    page: {
      path: "transfer",
      blocker: ({ table }) =>
        listOthers(table).length > 0
          ? undefined
          : say`No other app uses this table. The new owner must first declare the table and push.`,
      // Only an app that uses the table can own it: a page lists these apps, unless there are many.
      fields: ({ table }) => {
        const others = listOthers(table).sort();
        if (table.apps > MAX_CHOICES) return {};
        return {
          app: {
            label: "New owner (an app that uses the table)",
            hint: undefined,
            choices: Object.fromEntries(others.map((slug) => [slug, slug])),
          },
        };
      },
      typed: ({ table }) => [table.name, "transfer its ownership"],
    },
    command: "transfer-table",
    summary: "transfers a table to another app that uses it",
    about:
      "Pushes of the owner define the table; rows do not move. The new owner must already use the table.",
    json: { from: text(), to: text() },
  }),
};
