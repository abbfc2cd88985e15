/** The read of each Console page: one call on the Console's login, which returns no secret. @module */
import type { Arguments } from "../../db/mod.ts";
import { type ConsoleActor, callConsole } from "../actions/action.ts";
import { type Checked, type Column, check } from "../actions/columns.ts";
import type { ListedInvitation } from "../people/invitations.ts";
import { peopleList } from "../people/people_lists.ts";
import type { AppEnd } from "./app_end.ts";
import type { AppContent, ConsoleApp, PageView } from "./apps.ts";
import type { AuditContent } from "./audit.ts";
import type { ChangesView } from "./changes.ts";
import type { ConsoleHome } from "./home.ts";
import type { AppPerson } from "./people.ts";
import type { ConsolePush, PushView } from "./pushes.ts";
import type { RequestContent, StoredRequest } from "./requests.ts";
import type { RowsContent } from "./rows.ts";
import type { ConsoleAppTable, ConsoleBuild, ConsoleTable, PageApp, TableView } from "./tables.ts";

/** The results of a search. */
export type ConsoleMatches = {
  apps: { slug: string; disabledAt: string | null }[];
  people: { id: string; email: string; displayName: string | null }[];
  tables: { name: string; owner: string }[];
  keys: { keyId: string; name: string; app: string; revokedAt: string | null }[];
};

/** The result of each SQL function `console_<name>`. */
export type ConsoleReads = {
  describe_app: AppEnd;
  find: ConsoleMatches;
  home: ConsoleHome;
  list_app_people: { isDisabled: boolean; administrators: number; people: AppPerson[] };
  list_app_roles: { roles: string[] };
  list_app_tables: { app: PageApp; tables: ConsoleAppTable[] };
  list_apps: { apps: ConsoleApp[] };
  list_audit: AuditContent;
  list_invitations: { invitations: ListedInvitation[]; invited: number };
  list_people: Checked<typeof peopleList.result>;
  list_pushes: { app: PageApp; builds: ConsoleBuild[]; pushes: ConsolePush[] };
  list_requests: { requests: StoredRequest[] };
  list_tables: { tables: ConsoleTable[] };
  show_app: AppContent;
  show_changes: ChangesView;
  show_push: { app: PageApp; builds: ConsoleBuild[]; push: PushView | null };
  show_request: RequestContent;
  show_rows: RowsContent;
  show_table: { table: TableView };
};

/** The content of a page, and its viewer. @throws {Problem} as `actions/rejections.ts` lists them, such as unknown_app */
export async function readConsole<Name extends keyof ConsoleReads>(
  actor: ConsoleActor,
  name: Name,
  values: Arguments<`console_${Name}`>,
): Promise<PageView<ConsoleReads[Name]>> {
  const page = await callConsole(actor, `console_${name}`, values);
  const column: Column | undefined = CHECKS[name];
  const checked = column === undefined ? {} : check(column, page, name);
  return Object.assign({}, page, checked) as unknown as PageView<ConsoleReads[Name]>;
}

const CHECKS: { [Name in keyof ConsoleReads]?: Column<ConsoleReads[Name]> } = {
  list_people: peopleList.result,
};
