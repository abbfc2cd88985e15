/** Creates elements without markup: text stays text, even if it contains tags. @module */

type Properties = Readonly<Record<string, string | boolean | ((event: Event) => void)>>;

/** An element with attributes (strings, booleans), listeners (`onclick`) and children. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Properties,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === "function") created.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean") created.toggleAttribute(key, value);
    else created.setAttribute(key, value);
  }
  created.append(...children);
  return created;
}
