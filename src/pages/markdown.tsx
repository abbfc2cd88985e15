/**
 * Renders Markdown as HTML. Bun parses it, and templates render each element, so that text stays text. Omits raw HTML and
 * images.
 *
 * @module
 */
import { renderCopyButton } from "./form.tsx";
import { highlight, renderText } from "./highlight.tsx";
import { type Html, html, type Part } from "./html.ts";

/** The target of a link. `title` replaces the link's text if the text is a file name. */
export type Target = { readonly href: string; readonly title?: string };
export type MarkdownOptions = {
  /** The target of a link; a link without a target becomes text. */
  toTarget: (href: string) => Target | undefined;
};
export type Heading = { readonly level: number; readonly id: string; readonly text: string };
export type Rendered = { readonly content: Html; readonly headings: readonly Heading[] };

/**
 * The page, and its headings in order. The ids are the same as on GitHub.
 *
 * @example
 * ```ts
 * import { renderMarkdown } from "./markdown.tsx";
 * import { expect } from "bun:test";
 *
 * const { content, headings } = renderMarkdown("## A *list* <b>", { toTarget: () => undefined });
 * expect(headings).toEqual([{ level: 2, id: "a-list-b", text: "A list <b>" }]);
 * expect(content.markup).toContain("A <em>list</em> &lt;b&gt;");
 * ```
 */
export function renderMarkdown(text: string, { toTarget }: MarkdownOptions): Rendered {
  const root: unknown = Bun.markdown.react(text, {}, { headings: { ids: true } });
  const nodes = childrenOf(root);
  return {
    content: html`${renderNodes(nodes, { toTarget, copied: { count: 0 } })}`,
    headings: nodes.flatMap(toHeading),
  };
}

/** `copied` counts the copy buttons: the number is part of their ids. */
type Context = MarkdownOptions & { copied: { count: number } };
type Element = { readonly type: string; readonly props: Readonly<Record<string, unknown>> };
type Node = string | Element;

function renderNodes(nodes: readonly Node[], context: Context): Part {
  return nodes.map((node, position) => {
    if (typeof node === "string") return COMMENT.test(node) ? undefined : node;
    if (node.type === "code") return html`<code>${renderText(textOf(node))}</code>`;
    // The lines of a drawing must not wrap on a narrow page.
    const isDrawing = textOf(nodes[position - 1] ?? "").includes("a drawing");
    if (node.type === "pre") return renderCode(node, context, isDrawing);
    const render = ELEMENTS[node.type];
    return render?.(renderNodes(childrenOf(node), context), node.props, context);
  });
}

/** Bun parses a comment within a line as text. */
const COMMENT = /^<!--[\s\S]*-->$/;

type Render = (inside: Part, props: Element["props"], context: Context) => Html | undefined;

const ELEMENTS: Readonly<Record<string, Render>> = {
  h1: (inside, { id }) => html`<h1 id="${String(id)}">${inside}</h1>\n`,
  h2: (inside, { id }) => html`<h2 id="${String(id)}">${renderAnchor(id, inside)}</h2>\n`,
  h3: (inside, { id }) => html`<h3 id="${String(id)}">${renderAnchor(id, inside)}</h3>\n`,
  h4: (inside, { id }) => html`<h4 id="${String(id)}">${renderAnchor(id, inside)}</h4>\n`,
  // A paragraph of images is empty.
  p: (inside) => (isEmpty(inside) ? undefined : html`<p>${inside}</p>\n`),
  blockquote: (inside) => html`<blockquote>${inside}</blockquote>\n`,
  ul: (inside) => html`<ul>${inside}</ul>\n`,
  ol: (inside, { start }) => html`<ol start="${Number(start)}">${inside}</ol>\n`,
  li: (inside) => html`<li>${inside}</li>\n`,
  strong: (inside) => html`<strong>${inside}</strong>`,
  em: (inside) => html`<em>${inside}</em>`,
  del: (inside) => html`<del>${inside}</del>`,
  br: () => html`<br>`,
  hr: () => html`<hr>\n`,
  a: renderLink,
  table: (inside) =>
    isEmpty(inside)
      ? undefined
      : html`<div class="wide-table" tabindex="0" role="group" aria-label="Table"><table>${inside}</table></div>\n`,
  thead: (inside) => html`<thead>${inside}</thead>`,
  tbody: (inside) => html`<tbody>${inside}</tbody>`,
  tr: (inside) => html`<tr>${inside}</tr>\n`,
  // A column without a name has no header.
  th: (inside, { align }) =>
    isEmpty(inside) ? html`<td></td>` : html`<th scope="col"${renderAlign(align)}>${inside}</th>`,
  td: (inside, { align }) => html`<td${renderAlign(align)}>${inside}</td>`,
};

function renderAnchor(id: unknown, inside: Part): Html {
  return html`<a class="anchor" href="#${String(id)}">${inside}</a>`;
}

function renderAlign(align: unknown): Html | false {
  return align === "right" && html` class="number"`;
}

function renderLink(inside: Part, { href }: Element["props"], { toTarget }: Context): Html {
  const target = toTarget(String(href));
  if (target === undefined) return html`${inside}`;
  const isFileName = /^\w+\.md$/.test(toMarkup(inside));
  return html`<a href="${target.href}">${isFileName ? target.title : inside}</a>`;
}

/** Output has no copy button: readers do not run it. */
const OUTPUT_LANGUAGES = ["text", "json", undefined];

function renderCode(node: Element, { copied }: Context, isDrawing: boolean): Html {
  const text = textOf(node);
  const language = node.props["language"];
  const code = highlight(text, typeof language === "string" ? language : undefined);
  const label = isDrawing ? "Drawing" : "Example";
  const isOutput = OUTPUT_LANGUAGES.some((output) => output === language);
  if (isOutput)
    return html`<pre tabindex="0" aria-label="${label}"${isDrawing && html` class="drawing"`}><code>${code}</code></pre>\n`;
  copied.count += 1;
  const id = `code-${copied.count}`;
  return html`<div class="copyable"><pre tabindex="0" aria-label="${label}"><code id="${id}">${code}</code></pre>${renderCopyButton(id, `example ${copied.count}`)}</div>\n`;
}

function toHeading(node: Node): Heading[] {
  const level = typeof node === "string" ? undefined : /^h([1-6])$/.exec(node.type)?.[1];
  if (level === undefined || typeof node === "string") return [];
  return [{ level: Number(level), id: String(node.props["id"]), text: textOf(node) }];
}

function textOf(node: Node): string {
  return typeof node === "string" ? node : childrenOf(node).map(textOf).join("");
}

/** Whether an element has no visible text. */
function isEmpty(part: Part): boolean {
  return (
    toMarkup(part)
      .replace(/<[^>]*>/g, "")
      .trim() === ""
  );
}

function toMarkup(part: Part): string {
  return html`${part}`.markup;
}

function childrenOf(element: unknown): Node[] {
  const children: unknown = Object(Object(element).props).children;
  return Array.isArray(children) ? children.filter(isNode) : [];
}

function isNode(value: unknown): value is Node {
  return typeof value === "string" || typeof Object(value).type === "string";
}
