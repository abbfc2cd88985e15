/**
 * The script of the page that imports rows: reads a file, maps its names to columns, checks all rows, and sends them in batches.
 * A file that is selected again continues where it stopped, because the key of each batch is derived from the file.
 *
 * @module
 */

import { FIELDS } from "../../kinds/mod.ts";
import {
  DAY_ORDERS,
  decideDayOrder,
  type Fault,
  findFormat,
  hasUniques,
  showFaultLines,
} from "../../rows/mod.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { inDigits } from "../../std/count.ts";
import { toDataUrl } from "./data.ts";
import { announce, element, openAnnouncements } from "./dom.ts";
import {
  type Begun,
  isSame,
  readBegun,
  readFields,
  restoreFields,
  saveBegun,
} from "./import/begun.ts";
import {
  type ChosenFile,
  checkFile,
  digestBytes,
  type FileCheck,
  type ImportFile,
  readChoices,
  readNames,
  renderMapping,
} from "./import/file.ts";
import { type MatchTargets, readMatches } from "./import/match.ts";
import {
  addButton,
  count,
  openPlace,
  renderEncoding,
  renderFormat,
  renderZone,
  toLocalOffset,
  toNotice,
} from "./import/parts.ts";
import { describeEarlier, findSameFile } from "./import/record.ts";
import { offerRest, type Page, show, store } from "./import/store.ts";
import { openStoredCheck } from "./import/stored.ts";
import { offerSync, openComparison, renderSync, type SyncChoice } from "./import/sync.ts";

openAnnouncements();
const section = document.querySelector<HTMLElement>("[data-import]");
if (section !== null) start(section);

function start(parent: HTMLElement): void {
  const table = JSON.parse(parent.dataset["import"] ?? "") as TableDefinition;
  const targets = JSON.parse(parent.dataset["targets"] ?? "{}") as MatchTargets;
  const path = parent.dataset["rowsPath"] ?? "";
  const input = element("input", {
    type: "file",
    id: "file",
    accept: ".csv,.tsv,.txt,.json,.ndjson,.jsonl",
  });
  const hint = element(
    "p",
    { class: "hint", id: "file-hint" },
    "CSV, NDJSON or a JSON array. All rows are checked before any row is stored.",
  );
  input.setAttribute("aria-describedby", "file-hint");
  const steps = element("div", {});
  const label = element("label", { for: "file" }, "File");
  const paste = element("textarea", { id: "rows", rows: "6", spellcheck: "false" });
  const read = element("button", { type: "button", class: "button button-quiet" }, "Read the text");
  const pasted = element(
    "details",
    { class: "import-paste" },
    element("summary", {}, "Paste rows"),
    element("label", { for: "rows" }, "Rows as CSV or JSON"),
    paste,
    read,
  );
  parent.append(element("div", { class: "field" }, label, hint, input), pasted, steps);
  parent.hidden = false;
  const api = parent.dataset["api"] ?? "";
  const url = toDataUrl(api, table.name);
  const cascades = JSON.parse(parent.dataset["cascades"] ?? "[]") as string[];
  const hasHistory = parent.dataset["hasHistory"] !== undefined;
  const begun = readBegun(url);
  if (begun !== undefined && begun.isRemoved !== true && begun.stored < begun.rows) {
    const done = `${inDigits(begun.stored)} of ${count(begun.rows, "row")} of ${begun.name} are stored.`;
    steps.append(toNotice("info", `${done} ${CONTINUE}`));
  }
  const choose = (file: File | undefined) => {
    // Remove the form of the previous file: it does not apply to this file.
    steps.replaceChildren();
    if (file === undefined) return;
    open({ file, format: findFormat(file.name) ?? "csv" });
  };
  const open = (file: NewFile) => {
    const page = { table, targets, path, steps: openPlace(steps), api, url, cascades, hasHistory };
    void show(() => chooseFile(page, file, open), page.steps);
  };
  input.addEventListener("change", () => choose(input.files?.[0]));
  // A browser ignores the choice of the same file, which can have been corrected.
  let kept = new DataTransfer();
  const forget = () => {
    kept = new DataTransfer();
    for (const file of input.files ?? []) kept.items.add(file);
    input.value = "";
  };
  for (const event of ["click", "drop"]) input.addEventListener(event, forget);
  input.addEventListener("cancel", () => {
    input.files = kept.files;
  });
  read.addEventListener("click", () => {
    const ending = /^\s*[[{]/.test(paste.value) ? "json" : "csv";
    choose(paste.value.trim() === "" ? undefined : new File([paste.value], `rows.${ending}`));
  });
}

const CONTINUE = "Choose the file again to continue its import. No row is stored twice.";

type NewFile = Omit<ChosenFile, "encoding"> & Partial<ChosenFile>;

async function chooseFile(
  page: Page,
  chosenFile: NewFile,
  open: (file: NewFile) => void,
): Promise<void> {
  const { table, targets, steps } = page;
  const digest = await digestBytes(await chosenFile.file.arrayBuffer());
  const earlier = await findSameFile(page, digest);
  const undone = earlier.find((other) => other.undone !== null)?.act;
  const last = readBegun(page.url);
  const begun = last?.digest === digest ? last : undefined;
  if (
    begun !== undefined &&
    earlier.some(({ act, undone }) => act === begun.act && undone !== null)
  )
    saveBegun(page.url, { ...begun, isRemoved: true });
  const file = { encoding: begun?.choices["encoding"] ?? "utf-8", ...chosenFile };
  const read = await readNames(file);
  const encoding = renderEncoding(file);
  encoding.addEventListener("change", (event) => {
    event.stopPropagation();
    open({ ...file, encoding: encoding.value });
  });
  const protection = element("input", { type: "checkbox", id: "spreadsheet" });
  protection.checked = read.isMarked;
  const zone = renderZone();
  const sync = renderSync(table);
  const button = element(
    "button",
    { type: "submit", class: "button button-primary" },
    "Check the file",
  );
  const form = element(
    "form",
    {},
    ...renderFormat({ encoding, protection, isCsv: file.format === "csv" }),
    ...renderMapping(table, read, targets),
    ...(table.columns.some(({ kind }) => FIELDS[kind].control === "moment") ? [zone.field] : []),
    ...(hasUniques(table) ? sync.fields : []),
    element("div", { class: "action-buttons" }, button),
  );
  const results = element("div", { "data-results": "" });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { by, ...choices } = readChoices(form, table, targets);
    const chosen = { ...file, table, ...choices, isProtected: protection.checked };
    const place = openPlace(results);
    const fields = { digest, undone, choices: readFields(form) };
    void show(async () => {
      const matches = await readMatches(by);
      const offsetOf = zone.read();
      await check(
        { ...page, steps: place },
        { ...chosen, ...fields, matches, offsetOf },
        sync.read(),
      );
    }, place);
  });
  form.addEventListener("change", () => results.replaceChildren());
  if (begun !== undefined) restoreFields(form, { ...begun.choices, encoding: file.encoding });
  const [same] = earlier.filter((other) => other.undone === null && other.act !== begun?.act);
  steps.replaceChildren(
    ...(same === undefined ? [] : [describeEarlier(page, same)]),
    form,
    results,
  );
}

type NamedFile = ImportFile &
  Pick<Begun, "digest" | "choices"> & {
    /** The last import of the file that was undone: the batches of the next one are others. */
    readonly undone: string | undefined;
  };

async function check(page: Page, file: NamedFile, choice?: SyncChoice): Promise<void> {
  const { steps, table, url, api } = page;
  const status = element("p", { role: "status" }, "Checking…");
  steps.replaceChildren(status);
  const onRead = (rows: number) => {
    status.textContent = `Reading stored rows: ${inDigits(rows)}`;
  };
  const comparison = choice && (await openComparison(table, choice, { url, onRead }));
  let zoneless = 0;
  const offsetOf = (local: string) => {
    zoneless++;
    return file.offsetOf(local);
  };
  const last = readBegun(url);
  const begun = isSame(last, file) && last?.isRemoved !== true ? last : undefined;
  const isUpdate = comparison !== undefined;
  const stored = openStoredCheck(table, { api, matched: file.matches, isUpdate });
  const counted = { ...file, offsetOf };
  const result = await checkFile(counted, {
    // The rows that this import has stored are no duplicates.
    stored: begun === undefined ? stored : undefined,
    comparison,
    onProgress: (rows) => {
      status.textContent = `Checking: ${count(rows, "row")}`;
    },
  });
  const order = decideDayOrder(result.days);
  if (order !== undefined) return await check(page, { ...file, dayOrder: order }, choice);
  const { rows, issueCount, badLines, isCompared } = result;
  if (begun !== undefined) return offerRest(page, file, begun);
  steps.replaceChildren(...renderIssues(result));
  if (file.dayOrder !== undefined) {
    const shown = DAY_ORDERS[file.dayOrder];
    steps.append(toNotice("info", `Dates are read as ${shown}: some have a day above 12.`));
  }
  if (zoneless > 0) {
    const zone = file.offsetOf === toLocalOffset ? "this browser's time zone" : "UTC";
    steps.append(
      toNotice("info", `${count(zoneless, "time")} without a time zone: read in ${zone}.`),
    );
  }
  if (comparison !== undefined && (rows > 0 || choice?.deletesMissing === true)) {
    // A row with an error must not be deleted as missing.
    if (issueCount > 0) return;
    const again = () => show(() => check(page, file, choice), steps);
    const named = { name: file.file.name, digest: file.digest };
    return offerSync({ ...page, again, file: named }, comparison.end());
  }
  if (rows === 0) {
    if (issueCount === 0) steps.append(toNotice("error", "The file has no rows."));
    return;
  }
  const isPart = issueCount > 0;
  const text = isPart
    ? `${count(badLines.size, "line")} with errors`
    : `${count(rows, "row")} checked, no errors${isCompared ? "" : " in the compared rows: the table or file is too large to compare all. Others are found while storing"}.`;
  if (!isPart) steps.append(toNotice("info", text));
  announce(text);
  if (!result.hasKeys) steps.append(toNotice("info", ALL_NEW));
  const name = isPart
    ? `Import only the ${count(rows, "row")} without errors`
    : `Import ${count(rows, "row")}`;
  const { digest, choices } = file;
  const isAgain = last?.digest === digest && last.isRemoved === true;
  const leftOut = [...badLines];
  // The same file with other choices sends other rows: it is another import.
  const sent = new TextEncoder().encode(JSON.stringify([digest, choices, leftOut, file.undone]));
  const key = `file-${await digestBytes(sent)}${isAgain ? `-${Date.now()}` : ""}`;
  const task = { digest, choices, key, name: file.file.name, rows, stored: 0 };
  const start = { ...task, leftOut, startedAt: Date.now() };
  addButton(steps, name, () => show(() => store(page, { file, begun: start }), steps));
}

const ALL_NEW =
  "The file has no values of a unique column: all its rows are new, also those that the table has already.";

const CHOOSE_DAYS =
  "The file does not show whether its dates are day.month.year or month/day/year. Write them as 2026-10-31, or import the file with rowhouse data import --dates dmy or --dates mdy.";

function renderIssues({ faults, issueCount, badLines, days }: FileCheck): Node[] {
  if (issueCount === 0) return [];
  const listed = faults.map(renderFault);
  const more = issueCount - faults.reduce((sum, fault) => sum + fault.count, 0);
  if (more > 0) listed.push(`and ${count(more, "more error", "more errors")}`);
  if (Object.keys(days).length > 0) listed.push(CHOOSE_DAYS);
  const title = `${count(issueCount, "error")} in ${count(badLines.size, "line")}. Nothing was stored.`;
  return [toNotice("error", title, listed)];
}

function renderFault(fault: Fault): string {
  const { column, message, lines } = fault;
  const text = column === undefined ? message : `${column}: ${message}`;
  if (fault.count === 1) return `Line ${lines[0]}${column === undefined ? ": " : ", "}${text}`;
  return `${text} (${showFaultLines(fault)})`;
}
