/** Creates elements with attributes and children; text stays text. @module */

export const SMALL_BUTTON = "button button-quiet button-small";

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}

/** A small button that runs `run` when it is pressed. */
export function makeButton(
  name: string,
  run: () => void,
  attributes: Readonly<Record<string, string>> = {},
): HTMLButtonElement {
  const button = element("button", { type: "button", class: SMALL_BUTTON, ...attributes }, name);
  button.addEventListener("click", run);
  return button;
}
