/** The filtered audit log as CSV, read page by page while it is sent. @module */
import { type ConsoleAuditEntry, readConsole } from "../accounts/console/mod.ts";
import { Problem } from "../problem.ts";
import { toCsvLine } from "../std/csv.ts";
import { readFilter } from "./activity_filter.ts";
import type { Visit } from "./enter.ts";

const PAGE_ROWS = 1000;
/** Max characters of a spreadsheet cell. */
const DETAILS_CHARS = 32_000;

const COLUMNS = {
  id: ({ id }) => String(id),
  at: ({ at }) => new Date(at).toISOString(),
  actor: ({ actor }) => actor,
  actor_email: ({ actorEmail }) => actorEmail,
  action: ({ action }) => action,
  app: ({ app }) => app,
  user_id: ({ userId }) => userId,
  user_email: ({ email }) => email,
  client: ({ client }) => client,
  details: ({ details }) => details,
} as const satisfies Record<string, (entry: ConsoleAuditEntry) => string | null>;

/** @throws {Problem} invalid_query — with every issue of the filter */
export async function handleActivityCsv(visit: Visit): Promise<Response> {
  const { issues } = readFilter(visit.context.query, undefined);
  if (issues.length > 0) throw new Problem("invalid_query", { message: issues.join("; ") });
  // Read the first page before the response begins, so that a rejection has its own status.
  const first = await readPage(visit, undefined);
  const day = new Date(visit.deps.now()).toISOString().slice(0, 10);
  return new Response(toStream(visit, first), {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="rowhouse-activity-${day}.csv"`,
      "cache-control": "no-store",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}

async function readPage(
  { deps, context }: Visit,
  before: number | undefined,
): Promise<ConsoleAuditEntry[]> {
  const { filter } = readFilter(context.query, undefined);
  const page = { before_id: before, max_rows: PAGE_ROWS, details_chars: DETAILS_CHARS };
  return (await readConsole(deps, "list_audit", { ...filter, ...page })).entries;
}

/** Reads a page when the previous page has been sent. A failure aborts the response, so that it never looks complete. */
function toStream(visit: Visit, first: ConsoleAuditEntry[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let entries = first;
  let head = toCsvLine(Object.keys(COLUMNS));
  return new ReadableStream({
    pull: async (controller) => {
      controller.enqueue(encoder.encode(head + entries.map(toLine).join("")));
      head = "";
      if (entries.length < PAGE_ROWS) return controller.close();
      try {
        entries = await readPage(visit, entries.at(-1)?.id);
      } catch {
        // The next request reports the reason.
        controller.error();
      }
    },
  });
}

function toLine(entry: ConsoleAuditEntry): string {
  return toCsvLine(Object.values(COLUMNS).map((read) => read(entry)));
}
