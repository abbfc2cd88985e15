/** The line of an import in the Console: recorded when it begins and when it ends, and found by the digest of its file. @module */
import { callPatiently } from "../data.ts";
import { element } from "../dom.ts";
import { showTimes } from "../times.ts";
import { count, toNotice } from "./parts.ts";

type Place = {
  /** The address of the table's data. */
  readonly url: string;
  /** The address of the table's pages. */
  readonly path: string;
};

const MAX_NAME = 200;

type Begun = { act: string; file: string; digest: string; rows: number };

/** Returns why nothing can be stored. */
export async function recordBegin({ url }: Place, about: Begun): Promise<string | undefined> {
  return await record(url, { step: "begin_import", about });
}

type Ended = {
  act: string;
  file: string;
  wrote: { created: number; changed: number; deleted: number };
};

export async function recordEnd({ url }: Place, about: Ended): Promise<void> {
  // Without it, the line says that the import has not ended, and what is stored.
  await record(url, { step: "import_rows", about });
}

async function record(
  url: string,
  { step, about }: { step: string; about: { file: string } },
): Promise<string | undefined> {
  const body = JSON.stringify({ step, about: { ...about, file: about.file.slice(0, MAX_NAME) } });
  const answer = await callPatiently(`${url}/imports`, { method: "POST", body });
  if (answer.kind === "done") return undefined;
  return answer.kind === "lost" ? `Cannot begin: ${answer.reason}` : answer.message;
}

export function toImportPath({ path }: Pick<Place, "path">, act: string): string {
  return `${path}/imports/${act}`;
}

/** The page that shows the rows of an import, and undoes it. */
export function linkToImport(place: { steps: HTMLElement; path: string }, act: string): void {
  const attributes = { href: toImportPath(place, act), class: "button button-quiet" };
  const link = element("a", attributes, "Rows and undo");
  place.steps.append(element("div", { class: "action-buttons" }, link));
}

/** An earlier import of a file. */
type Earlier = {
  readonly act: string;
  readonly at: string;
  readonly by: string | null;
  readonly rows: number;
  readonly ended: Readonly<Record<string, number>> | null;
  readonly undone: unknown;
};

/** The imports of a file into the table, the latest first; nothing without a response. */
export async function findSameFile({ url }: Place, digest: string): Promise<readonly Earlier[]> {
  const answer = await callPatiently(`${url}/imports?digest=${digest}`);
  return answer.kind === "done" ? (JSON.parse(answer.text) as Earlier[]) : [];
}

/** Says when the file was imported, and by whom. */
export function describeEarlier(place: Pick<Place, "path">, earlier: Earlier): HTMLElement {
  const { act, at, by, rows, ended } = earlier;
  const stored = Object.values(ended ?? { rows }).reduce((sum, number) => sum + number, 0);
  const notice = toNotice("info", "This file was imported before: ");
  notice
    .querySelector("p")
    ?.append(
      element("a", { href: toImportPath(place, act) }, count(stored, "row")),
      " by ",
      element("bdi", {}, by ?? "a person who no longer exists"),
      ", ",
      element("time", { datetime: at }, at),
      ended === null ? ". It has not ended." : ".",
    );
  showTimes(notice);
  return notice;
}
