/** The parameters of endpoints. Each is defined once in a document, so that tables share them. Pure. @module */
import { type FilterParameter, ON_CONFLICT, toConditionSchema } from "../data/mod.ts";
import type { Deprecation, JsonSchema, Operation, OperationParameter } from "../http/mod.ts";
import { KINDS } from "../kinds/mod.ts";
import {
  type NamedParts,
  nameParts,
  type Schemas,
  toComponents,
  toPartReference,
  toReference,
} from "./references.ts";

/** The parameters that endpoints declare, without those of columns. */
export function nameParameters(operations: readonly Operation[]): NamedParts {
  return nameParts(
    operations.flatMap(({ id, parameters = [] }) =>
      parameters
        .filter(({ name }) => !INLINE.includes(name))
        .map((parameter) => ({ part: toParameter(parameter), name: parameter.name, owner: id })),
    ),
  );
}

/** `rowhouse import` of 0.1 looks for this name at the endpoint. */
const INLINE: readonly string[] = [ON_CONFLICT];

export function toParameterReference(named: NamedParts, parameter: OperationParameter): JsonSchema {
  return toPartReference("parameters", named, toParameter(parameter));
}

export function toFilterReference(filter: FilterParameter): JsonSchema {
  return toReference("parameters", toFilterName(filter));
}

export function toParameterComponents(
  named: NamedParts,
  filters: readonly FilterParameter[],
): Schemas {
  const ofColumns = filters.map((filter) => {
    const { kind, ...described } = filter;
    const schema = toReference("schemas", toConditionName(kind));
    return [toFilterName(filter), { ...described, schema, required: false }];
  });
  return { ...toComponents(named), ...Object.fromEntries(ofColumns) };
}

/** The schemas of conditions, one for each kind of column. */
export function toConditionSchemas(): Schemas {
  return Object.fromEntries(KINDS.map((kind) => [toConditionName(kind), toConditionSchema(kind)]));
}

/** The component of a condition. */
export function toFilterName({ name, kind }: FilterParameter): string {
  return `${name}-${kind}`;
}

function toConditionName(kind: string): string {
  return `${kind}-condition`;
}

function toParameter(parameter: OperationParameter): JsonSchema {
  const { deprecated: _, isRequired = false, ...described } = parameter;
  const required = isRequired || parameter.in === "path";
  return { ...described, required, ...toDeprecated(parameter) };
}

type Deprecable = { readonly deprecated?: Deprecation; readonly description?: string };

/** Tools read the flag, people the dates. */
export function toDeprecated({ deprecated, description }: Deprecable): JsonSchema {
  if (deprecated === undefined) return {};
  const { since, until } = deprecated;
  const days = `Deprecated since ${since}${until === undefined ? "" : `, removed from ${until}`}.`;
  return {
    deprecated: true,
    description: description === undefined ? days : `${description} ${days}`,
  };
}
