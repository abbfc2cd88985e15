/**
 * JSX in scripts: creates the nodes of the same markup that the server renders as text, so that both have one implementation.
 * The bundles of scripts use it instead of `html.ts`, by the condition `browser` in package.json. Text stays text.
 *
 * @module
 */
import type { Html, Part } from "../html.ts";

type Props = Readonly<Record<string, unknown>> & { readonly children?: Part };

export function jsx(name: string | ((props: Props) => Html), props: Props): Html {
  if (typeof name === "function") return name(props);
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key === "children" || value === undefined || value === null || value === false) continue;
    created.setAttribute(key, value === true ? "" : String(value));
  }
  append(created, props.children);
  return fromNode(created);
}
export { jsx as jsxDEV, jsx as jsxs };

export function Fragment({ children }: { readonly children?: Part }): Html {
  const parts = document.createDocumentFragment();
  append(parts, children);
  return fromNode(parts);
}

/** The node of markup that a script created. */
export function toNode(html: Html): Node {
  const node: unknown = html;
  if (node instanceof Node) return node;
  throw new TypeError("Markup of the server is no node");
}

/** In scripts, markup is a node; the shared components do not look into it. */
function fromNode(node: Node): Html {
  const html: unknown = node;
  return html as Html;
}

function append(parent: Node, part: Part): void {
  if (part === undefined || part === null || part === false) return;
  if (typeof part === "string" || typeof part === "number")
    parent.appendChild(document.createTextNode(String(part)));
  else if (isList(part)) for (const one of part) append(parent, one);
  else parent.appendChild(toNode(part));
}

function isList(part: Part): part is readonly Part[] {
  return Array.isArray(part);
}
