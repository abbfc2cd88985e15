/** The migrations of two branches in one folder, after a merge: which file belongs to which branch. Pure. @module */
import { join } from "node:path";
import type { Detail } from "../../problem.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { JOURNAL_FILE, type JournalFile } from "./journal.ts";
import {
  checksumOf,
  type Migration,
  type MigrationRecord,
  splitMigrationText,
} from "./migration_text.ts";

/** The files that only one of the branches has, in order. */
type Branch = readonly { readonly file: string; readonly parts: Migration }[];
export type Merge = readonly Branch[];

/** The branches from the first number that two files of different content have; `undefined` without such a number. */
export function findMerge(files: readonly JournalFile[]): Merge | undefined {
  const read = files
    .flatMap(({ file, text }) => {
      const [number, parts] = [JOURNAL_FILE.exec(file)?.[1], splitMigrationText(text)];
      return number === undefined || parts === undefined
        ? []
        : [{ file, seq: Number(number), parts }];
    })
    .sort((a, b) => a.seq - b.seq || (a.file < b.file ? -1 : 1));
  const isShared = ({ seq, parts }: (typeof read)[number]) =>
    read.some((other) => other.seq === seq && other.parts.checksum !== parts.checksum);
  const fork = read.find(isShared)?.seq;
  if (fork === undefined) return undefined;
  const branches: { file: string; parts: Migration }[][] = [];
  for (const { file, seq, parts } of read.filter(({ seq }) => seq >= fork)) {
    const follows = (branch: Branch) =>
      checksumOf(branch.at(-1)?.parts.checksum ?? "", parts.body) === parts.checksum;
    const branch = seq === fork ? undefined : branches.find(follows);
    if (branch === undefined) branches.push([{ file, parts }]);
    else branch.push({ file, parts });
  }
  return branches;
}

/** A service, the commands that reach it, and the migrations of the project that it has applied. */
export type MergePlace = {
  name: string;
  push: string;
  resolve: string;
  recorded: readonly MigrationRecord[];
};

/** Both branches, where their files are applied, and the commands that keep the files of one branch. */
export function describeMerge(
  merge: Merge,
  places: readonly MergePlace[],
  journal: string,
): { lines: string[]; details: Detail[] } {
  const isApplied = ({ parts }: Branch[number], { recorded }: MergePlace) =>
    recorded.some(({ checksum }) => checksum === parts.checksum);
  const having = (branch: Branch) =>
    places.filter((place) => branch.some((file) => isApplied(file, place)));
  const kept = merge.toSorted((a, b) => having(b).length - having(a).length)[0] ?? [];
  const others = merge.filter((branch) => branch !== kept);
  const files = others.flat().map(({ file }) => quoteForShell(join(journal, file)));
  const commands = places.map((place) =>
    others.some((branch) => having(branch).includes(place)) ? place.resolve : place.push,
  );
  const lines = [
    "Two branches were merged: their migrations have the same numbers",
    ...merge.map((branch) => {
      const at = having(branch).map(({ name }) => name);
      const named = branch.map(({ file }) => file).join(", ");
      if (places.length === 0) return `  ${named}`;
      return `  ${named}  ${at.length === 0 ? "not applied" : `applied at ${at.join(", ")}`}`;
    }),
    "In the schema declare what either branch declares, and keep the files of one branch, for example:",
    ...[`rm ${files.join(" ")}`, ...commands].map((command) => `  ${command}`),
  ];
  const details = merge.flat().map(({ file }) => ({
    path: `/${file}`,
    message: "A migration of another branch has its number",
  }));
  return { lines, details };
}
