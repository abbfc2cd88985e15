/** A list of an app or of the service: the rows of its page, and a CSV of all rows with the rights and the filter of the page. @module */
import {
  type Columns,
  type List,
  type Row,
  toCsvHead,
  toCsvRows,
  toValueText,
} from "../accounts/actions/mod.ts";
import { type ConsoleReads, type PageView, readConsole } from "../accounts/console/mod.ts";
import type { Arguments, FunctionName } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import type { Visit } from "./enter.tsx";
import { ROWS_READ } from "./search.tsx";

type ReadName = Extract<keyof ConsoleReads, FunctionName>;
type Listed<Name extends ReadName, Of extends Columns> = Pick<
  List<Name, string, Of, Columns>,
  "read" | "ask" | "name" | "columns" | "key"
>;
type Filter<Name extends ReadName> = Partial<Arguments<Name>>;
type Asked<Name extends ReadName> = { after?: string; limit?: number; filter?: Filter<Name> };

/** The rows after a key, of the app in the address. @throws {Problem} unknown_app, and as {@linkcode readConsole} */
export async function readListed<Name extends ReadName, Of extends Columns>(
  { deps, context }: Visit,
  { read, ask }: Listed<Name, Of>,
  { after = "", limit = ROWS_READ, filter }: Asked<Name>,
): Promise<PageView<ConsoleReads[Name]>> {
  const { app: of = "" } = context.params;
  // The compiler does not compare the arguments of a read with those of its function for the Console.
  const values = { ...ask({ of, after, limit }), ...filter } as never;
  const page = await readConsole<Name>(deps, read, values);
  // The audit log also has entries of deleted apps.
  if (of !== "" && "app" in page && page.app === null) throw new Problem("unknown_app");
  return page;
}

/** A row of tables has the whole definition. */
const CSV_PAGE_ROWS = 100;

/** @throws {Problem} as `toFilter` and {@linkcode readConsole} */
export function makeCsv<Name extends ReadName, Of extends Columns>(
  list: Listed<Name, Of>,
  toFilter: (visit: Visit) => Filter<Name> = () => ({}),
): (visit: Visit) => Promise<Response> {
  return async (visit) => {
    const filter = toFilter(visit);
    const read = async (after?: string): Promise<Row<Of>[]> => {
      const asked = { ...(after !== undefined && { after }), limit: CSV_PAGE_ROWS, filter };
      const page: object = await readListed(visit, list, asked);
      // The compiler does not connect the name of a list with the rows of its page.
      return (page as Record<string, Row<Of>[]>)[list.name] ?? [];
    };
    // Read the first page before the response begins, so that a rejection has its own status.
    return new Response(toStream(list, await read(), read), {
      headers: {
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": `attachment; filename="${toFileName(visit)}"`,
        "cache-control": "no-store",
        "cross-origin-resource-policy": "same-origin",
      },
    });
  };
}

/** Such as `rowhouse-wiki-keys-2030-01-31.csv`. */
function toFileName({ deps, context }: Visit): string {
  const [name] = new URL(context.request.url).pathname.split("/").slice(-1);
  const parts = ["rowhouse", context.params["app"], name?.replace(/\.csv$/, "")];
  const day = new Date(deps.now()).toISOString().slice(0, 10);
  return `${[...parts, day].filter((part) => part !== undefined).join("-")}.csv`;
}

/** Reads a page when the previous page has been sent. A failure aborts the response, so that it never looks complete. */
function toStream<Of extends Columns>(
  { columns, key }: Pick<Listed<ReadName, Of>, "columns" | "key">,
  first: Row<Of>[],
  read: (after: string) => Promise<Row<Of>[]>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let rows = first;
  let head = toCsvHead(columns);
  return new ReadableStream({
    pull: async (controller) => {
      controller.enqueue(encoder.encode(head + toCsvRows(columns, rows)));
      head = "";
      const last = key !== undefined && rows.length >= CSV_PAGE_ROWS && rows.at(-1)?.[key];
      const after = last === false ? null : toValueText(last);
      if (after === null) return controller.close();
      try {
        rows = await read(after);
      } catch {
        // The next request reports the reason.
        controller.error();
      }
    },
  });
}
