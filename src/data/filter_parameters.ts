/** The columns of a table as parameters of its list, if `PREVIEW` contains `filters`. @module */
import type { NamedColumn } from "../dsl/mod.ts";
import type { OperationParameter } from "../http/mod.ts";
import { listOperators } from "./filter.ts";
import { ID, isColumnParameter } from "./list_query.ts";

/** One parameter for each column that no list parameter hides. */
export function toFilterParameters(columns: readonly NamedColumn[]): OperationParameter[] {
  return [ID, ...columns]
    .filter(({ name }) => isColumnParameter(name))
    .map(({ name, kind }) => ({
      in: "query",
      name,
      description: `A condition on the column, which is of kind ${kind}: ${listOperators(kind)}, each also after \`not.\`.`,
      schema: { type: "string", examples: ["not.is.null"] },
    }));
}
