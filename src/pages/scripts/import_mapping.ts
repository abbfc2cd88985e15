/** The choice of a column for each name of a file. @module */
import type { TableDefinition } from "../../dsl/mod.ts";
import { isNeeded, makeMapping } from "../../rows/mod.ts";
import { element } from "./element.ts";

/** One field for each name; the column of the same name is chosen. */
export function renderMapping(table: TableDefinition, names: readonly string[]): HTMLElement[] {
  const mapping = makeMapping(table);
  return names.map((name, index) => {
    const target = mapping.targetOf(name);
    const chosen = "column" in target ? target.column?.name : undefined;
    const id = `column-${index}`;
    const select = element("select", { id, "data-name": name }, new Option("Leave out", ""));
    for (const column of table.columns) {
      const text = isNeeded(column) ? `${column.name} (required)` : column.name;
      select.append(new Option(text, column.name, false, column.name === chosen));
    }
    const label = element(
      "label",
      { for: id },
      /^#\d+$/.test(name) ? `Column ${name.slice(1)} (no name)` : element("bdi", {}, name),
    );
    return element("div", { class: "field import-column" }, label, select);
  });
}

export type Choices = {
  readonly map: ReadonlyMap<string, string>;
  readonly skip: readonly string[];
};

export function readChoices(form: HTMLFormElement): Choices {
  const selects = [...form.querySelectorAll<HTMLSelectElement>("select[data-name]")];
  const chosen = selects.map(({ dataset, value }) => [dataset["name"] ?? "", value] as const);
  return {
    map: new Map(chosen.filter(([, column]) => column !== "")),
    skip: chosen.filter(([, column]) => column === "").map(([name]) => name),
  };
}
