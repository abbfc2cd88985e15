/** The forms of a page, as a browser reads them. @module */

export type FormField = {
  name: string;
  tag: "input" | "select" | "textarea" | "button";
  type: string;
  attribute: (name: string) => string | undefined;
  /** The value that the form would send without any input; of a checkbox, that of the checked box. */
  value: string;
  /** The values of a select. */
  options: readonly string[];
};
export type Form = { method: string; action: string; fields: readonly FormField[] };

export function readForms(html: string): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(
    ([, attributes = "", body = ""]) => ({
      method: readAttribute(attributes, "method") ?? "get",
      action: readAttribute(attributes, "action") ?? "",
      fields: readFields(body),
    }),
  );
}

function readFields(body: string): FormField[] {
  const found = body.matchAll(
    /<(input|button)\b([^>]*)>|<(select|textarea)\b([^>]*)>([\s\S]*?)<\/\3>/g,
  );
  return [...found].flatMap(([, single, own = "", paired, of = own, inner = ""]) => {
    const tag = (single ?? paired) as FormField["tag"];
    const name = readAttribute(of, "name");
    if (name === undefined) return [];
    const options = [...inner.matchAll(/<option\b([^>]*)>([^<]*)/g)].map(
      ([, option = "", text = ""]) => ({
        value: readAttribute(option, "value") ?? toPlainText(text),
        isSelected: /\sselected\b/.test(option),
      }),
    );
    const chosen = options.find(({ isSelected }) => isSelected) ?? options[0];
    const value = {
      input: readAttribute(of, "value") ?? (readAttribute(of, "type") === "checkbox" ? "on" : ""),
      button: readAttribute(of, "value") ?? "",
      select: chosen?.value ?? "",
      // HTML ignores a line break at the beginning.
      textarea: toPlainText(inner).replace(/^\n/, ""),
    }[tag];
    return {
      ...{ name, tag, value, type: readAttribute(of, "type") ?? tag },
      attribute: (wanted) => readAttribute(of, wanted),
      options: options.map((option) => option.value),
    } satisfies FormField;
  });
}

function readAttribute(attributes: string, name: string): string | undefined {
  const found = [...attributes.matchAll(/([^\s=]+)(?:="([^"]*)")?/g)];
  const value = found.find(([, attribute]) => attribute === name);
  return value && toPlainText(value[2] ?? "");
}

const ENTITIES: Readonly<Record<string, string>> = {
  quot: '"',
  "#39": "'",
  lt: "<",
  gt: ">",
  amp: "&",
};

function toPlainText(text: string): string {
  return text.replace(/&(quot|#39|lt|gt|amp);/g, (_, name: string) => ENTITIES[name] ?? "");
}
