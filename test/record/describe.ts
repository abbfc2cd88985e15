/** Describes responses without their values: the shape of JSON, and the forms of a page. Pure. @module */
import { type FormField, readForms } from "../support/forms.ts";

/** Values that vary between runs. */
const VARYING: readonly [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>"],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)/g, "<time>"],
  [/(?<=filename="rowhouse-[a-z-]+)\d{4}-\d\d-\d\d/g, "<day>"],
  [/\b(?:app|person)-[0-9a-f]{12}\b/g, "<name>"],
  [/\brh_[a-z0-9]{16}(?:\.[0-9A-Za-z]+)?/g, "<key>"],
  [/(?<=(?:\/|%2F)(?:keys|sessions)(?:\/|%2F))[\w-]{16}\b/g, "<id>"],
  [/127\.0\.0\.1:\d+/g, "<host>"],
  [/\?v=[0-9a-f]+|-[0-9a-f]{8,}(?=\.(?:js|css|svg|png))/g, "<version>"],
  [/"[\w-]{16,}"/g, "<tag>"],
  [/sha256-[\w+/=]+/g, "<hash>"],
  [/nonce-[\w+/=]+/g, "<nonce>"],
  [/(?<=^form-token: )[\w-]+/g, "<token>"],
];

export function mask(text: string): string {
  return VARYING.reduce((masked, [pattern, name]) => masked.replace(pattern, name), text);
}

/** `{id:string,rows:[{title:string|null}]}`: the keys in their order, and the types of values. Codes of errors keep their value. */
export function describeShape(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `[${[...new Set(value.map(describeShape))].sort().join("|")}]`;
  if (typeof value !== "object") return typeof value;
  const fields = Object.entries(value).map(([key, field]) =>
    key === "error" || key === "code" ? `${key}:${field}` : `${mask(key)}:${describeShape(field)}`,
  );
  return `{${fields.join(",")}}`;
}

/** A line for each form of a page: method, action, then the name, type and rules of each field. Lists repeat forms: once each. */
export function describeForms(html: string): string[] {
  const lines = readForms(html).map(({ method, action, fields }) =>
    mask(
      `form ${method} ${action.replaceAll("&", "&amp;")}: ${fields.map(describeField).join(", ")}`,
    ),
  );
  return [...new Set(lines)];
}

const RULES = ["required", "maxlength", "minlength", "pattern", "autocomplete", "inputmode"];

function describeField({ name, type, attribute }: FormField): string {
  const rules = RULES.flatMap((rule) => {
    const value = attribute(rule);
    return value === undefined ? [] : [`${rule}=${value}`];
  });
  return [name, type, ...rules].join(" ");
}
