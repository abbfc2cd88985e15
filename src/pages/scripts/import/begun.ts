/** The import into a table that this tab began last. It survives a reload, so that the same file continues with the same batches. @module */
import { IDEMPOTENCY_HOURS } from "../../../std/limits.ts";

export type Begun = {
  readonly digest: string;
  /** The fields of the form, by their ids. */
  readonly choices: Readonly<Record<string, string>>;
  /** The seed of the keys of the batches. */
  readonly key: string;
  /** The id of all its requests, by which it is undone; `undefined` before the first one. */
  readonly act?: string;
  readonly name: string;
  readonly rows: number;
  readonly stored: number;
  readonly leftOut: readonly number[];
  readonly startedAt: number;
  /** The batches that another import of the file has stored, by the number of rows before them. */
  readonly foreign?: readonly number[];
  /** The rows were removed: the next import of the file is a new one. */
  readonly isRemoved?: true;
};

const toName = (url: string) => `import ${url}`;

/** Nothing when the service no longer knows the keys of the batches. */
export function readBegun(url: string): Begun | undefined {
  const text = sessionStorage.getItem(toName(url));
  const begun = text === null ? undefined : (JSON.parse(text) as Begun);
  const isKnown = begun && Date.now() - begun.startedAt < IDEMPOTENCY_HOURS * 3_600_000;
  return isKnown ? begun : undefined;
}

export function saveBegun(url: string, begun: Begun): void {
  try {
    sessionStorage.setItem(toName(url), JSON.stringify(begun));
  } catch {
    // The storage is full: then the same file is checked again, which finds the stored rows.
    sessionStorage.removeItem(toName(url));
  }
}

export function isSame(
  begun: Begun | undefined,
  { digest, choices }: Pick<Begun, "digest" | "choices">,
): boolean {
  return begun?.digest === digest && JSON.stringify(begun.choices) === JSON.stringify(choices);
}

export function readFields(form: HTMLFormElement): Record<string, string> {
  return Object.fromEntries(listFields(form).map((field) => [field.id, readField(field)]));
}

export function restoreFields(form: HTMLFormElement, choices: Begun["choices"]): void {
  for (const field of listFields(form)) {
    const value = choices[field.id];
    if (value === undefined) continue;
    if (field.type === "checkbox" && field instanceof HTMLInputElement)
      field.checked = value === "on";
    else field.value = value;
  }
}

type Field = HTMLInputElement | HTMLSelectElement;

function listFields(form: HTMLFormElement): Field[] {
  return [...form.querySelectorAll<Field>("input[id], select[id]")];
}

function readField(field: Field): string {
  if (!(field instanceof HTMLInputElement) || field.type !== "checkbox") return field.value;
  return field.checked ? "on" : "";
}
