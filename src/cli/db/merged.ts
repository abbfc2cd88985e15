/** The rejection of a folder that has the migrations of two branches, after a merge. @module */
import { relative } from "node:path";
import { describeMerge, type Merge, type MergePlace } from "../../tables/history/merged_files.ts";
import type { MigrationRecord } from "../../tables/history/migration_text.ts";
import { EXIT, RejectedError } from "../command.ts";
import { type Destination, withDestination } from "./service.ts";

/** @throws {RejectedError} lists the files of both branches, and the commands that keep those of one branch */
export function rejectMerge(
  merge: Merge,
  { folder, journal, destination }: { folder: string; journal: string; destination: Destination },
  recorded: readonly MigrationRecord[],
): never {
  const place = toMergePlace(destination, recorded);
  const { lines, details } = describeMerge(merge, [place], relative(folder, journal));
  throw new RejectedError(lines.join("\n"), EXIT.rejected, { code: "edited_migration", details });
}

export function toMergePlace(
  destination: Destination,
  recorded: readonly MigrationRecord[],
): MergePlace {
  const name =
    destination.kind === "service"
      ? (destination.environment?.name ?? destination.target.url)
      : destination.app;
  return {
    name,
    push: withDestination("rowhouse db push", destination),
    resolve: withDestination("rowhouse db resolve", destination),
    recorded,
  };
}
