/** What the scripts of an import and of its undo send: their steps, and the digest of the file. @module */

import * as v from "valibot";
import { readParameters } from "../../http/mod.ts";
import { TOKEN_HEADER } from "../../identity/mod.ts";
import { Problem } from "../../problem.ts";
import { logImport } from "../../records/console/mod.ts";
import type { UndoAnswer } from "../../rows/mod.ts";
import { tryParseJson } from "../../std/json.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { runUndo } from "./import_undo.ts";
import { findImport, listImports } from "./imports.tsx";
import type { RowsTable } from "./table.tsx";

const COUNT = v.pipe(v.number(), v.integer(), v.minValue(0));
const ACT = {
  act: v.pipe(v.string(), v.check(isUuid)),
  file: v.pipe(v.string(), v.maxLength(200)),
};
const ENTRY = v.variant("step", [
  v.object({
    step: v.literal("begin_import"),
    about: v.object({ ...ACT, digest: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)), rows: COUNT }),
  }),
  v.object({
    step: v.literal("undo"),
    about: v.object({
      of: v.string(),
      act: v.optional(v.string()),
      before: v.optional(COUNT),
    }),
  }),
  v.object({
    step: v.literal("import_rows"),
    about: v.object({
      ...ACT,
      wrote: v.object({ created: COUNT, changed: COUNT, deleted: COUNT }),
    }),
  }),
]);

/** @throws {Problem} invalid_request — the script did not send it */
export async function recordImport(
  visit: Visit,
  table: RowsTable,
  body: string,
): Promise<Response> {
  const read = v.safeParse(ENTRY, tryParseJson(body));
  if (!read.success)
    throw new Problem("invalid_request", { message: "Cannot read this step of an import" });
  if (read.output.step === "undo") return await undo(visit, table, read.output.about);
  await logImport(visit.deps, table, read.output);
  return new Response(null, { status: 201 });
}

/** A step of the undo lasts about this long, so that the script can show its progress. */
const STEP_MS = 1000;

type UndoAsked = { of: string; act?: string | undefined; before?: number | undefined };

async function undo(
  visit: Visit,
  table: RowsTable,
  { of, act, before }: UndoAsked,
): Promise<Response> {
  const place = { act, before };
  const found = await findImport(visit, table, of);
  const {
    total,
    kept,
    rest,
    act: continued,
  } = await runUndo(visit, table, {
    ...{ of: found, place, ms: STEP_MS },
  });
  const body: UndoAnswer = { act: continued, total, kept, rest };
  return Response.json(body);
}

/** The imports of a file, by its digest; with the token of the script's writes. */
export async function findSameFile(visit: Visit, table: RowsTable): Promise<Response> {
  const digest = new Map(readParameters(visit.context.query)).get("digest") ?? "";
  const imports = await listImports(visit, table, { digest });
  const found = imports.filter(({ isUndo }) => !isUndo);
  const headers = { [TOKEN_HEADER]: visit.token, "cache-control": "no-store" };
  return Response.json(found, { headers });
}
