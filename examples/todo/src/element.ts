/** Creates elements without markup: text stays text, even if it contains tags. @module */

type Properties = Readonly<Record<string, string | boolean | ((event: Event) => void)>>;

/** An element with attributes (strings, booleans), listeners (`onclick`) and children. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Properties,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean") made.toggleAttribute(key, value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
