/** References to the components of a document, and what they refer to. Pure. @module */
import type { JsonSchema } from "../http/mod.ts";
import type { InPieces } from "../std/give_way.ts";

export type Schemas = Readonly<Record<string, JsonSchema>>;

/** The parts of a document that are defined once. */
export type Components = {
  readonly schemas: Schemas;
  readonly parameters: Schemas;
  readonly responses: Schemas;
};

export function toReference(section: keyof Components, name: string): JsonSchema {
  return { $ref: `#/components/${section}/${name}` };
}

/**
 * The target of a reference, with the keywords beside the reference; other values unchanged.
 *
 * @example
 * ```ts
 * const document = { components: { schemas: { uuid: { type: "string", description: "A UUID." } } } };
 * const column = { $ref: "#/components/schemas/uuid", description: "Its owner." };
 * expect(followReference(document, column)).toEqual({ type: "string", description: "Its owner." });
 * ```
 */
export function followReference(document: JsonSchema, value: JsonSchema): JsonSchema {
  const { $ref, ...others } = value;
  if (typeof $ref !== "string") return value;
  const target = $ref
    .split("/")
    .slice(1)
    .reduce<unknown>((part, name) => Object(part)[name], document);
  return { ...Object(target), ...others };
}

/** Parts of endpoints by their content, with the names of their components. */
export type NamedParts = ReadonlyMap<string, { readonly name: string; readonly part: JsonSchema }>;

type Part = { readonly part: JsonSchema; readonly name: string; readonly owner: string };

/** Equal parts share a component. Its name is that of the part, with the first owner if another part has the name. */
export function nameParts(parts: readonly Part[]): NamedParts {
  const named = new Map<string, { name: string; part: JsonSchema }>();
  const names = new Set<string>();
  for (const { part, name, owner } of parts) {
    const content = JSON.stringify(part);
    if (named.has(content)) continue;
    const own = names.has(name) ? `${name}-${owner}` : name;
    names.add(own);
    named.set(content, { name: own, part });
  }
  return named;
}

/** A reference to the component of a part; the part itself, if it has none. */
export function toPartReference(
  section: keyof Components,
  named: NamedParts,
  part: JsonSchema,
): JsonSchema {
  const found = named.get(JSON.stringify(part));
  return found === undefined ? part : toReference(section, found.name);
}

export function toComponents(named: NamedParts): Schemas {
  return Object.fromEntries([...named.values()].map(({ name, part }) => [name, part]));
}

/** The components to which the paths refer, directly or by other components. Linters reject all others. */
export function* keepUsed<Given extends Components>(
  paths: JsonSchema,
  components: Given,
): InPieces<Given> {
  const used = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, part] of Object.entries(value)) {
      if (key !== "$ref" || typeof part !== "string") visit(part);
      else if (!used.has(part)) {
        used.add(part);
        visit(followReference({ components }, { $ref: part }));
      }
    }
  };
  for (const path of Object.values(paths)) {
    visit(path);
    yield;
  }
  const isUsed = (section: string, name: string) => used.has(`#/components/${section}/${name}`);
  const keep = (section: keyof Components) =>
    Object.fromEntries(
      Object.entries(components[section]).filter(([name]) => isUsed(section, name)),
    );
  return {
    ...components,
    schemas: keep("schemas"),
    parameters: keep("parameters"),
    responses: keep("responses"),
  };
}
