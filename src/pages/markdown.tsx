/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * Renders Markdown as HTML. Bun parses it, and templates render each element, so that text stays text. Omits raw HTML and
 * images.
 *
 * @module
 */
import { renderCopyable } from "./form.tsx";
import { highlight, renderText } from "./highlight.tsx";
import { Fragment, type Html, type Part } from "./html.ts";

/** The target of a link. `title` replaces the link's text if the text is a file name. */
export type Target = { readonly href: string; readonly title?: string };
type MarkdownOptions = {
  /** The target of a link; a link without a target becomes text. */
  toTarget: (href: string) => Target | undefined;
};
export type Heading = { readonly level: number; readonly id: string; readonly text: string };
type Rendered = { readonly content: Html; readonly headings: readonly Heading[] };

/**
 * The page, and its headings in order. The ids are the same as on GitHub.
 *
 * @example
 * ```ts
 * const { content, headings } = renderMarkdown("## A *list* <b>", { toTarget: () => undefined });
 * expect(headings).toEqual([{ level: 2, id: "a-list-b", text: "A list <b>" }]);
 * expect(content.markup).toContain("A <em>list</em> &lt;b&gt;");
 * ```
 */
export function renderMarkdown(text: string, { toTarget }: MarkdownOptions): Rendered {
  const root: unknown = Bun.markdown.react(text, {}, { headings: { ids: true } });
  const nodes = childrenOf(root);
  return {
    content: <>{renderNodes(nodes, { toTarget, copied: { count: 0 } })}</>,
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
    if (node.type === "code") return <code>{renderText(textOf(node))}</code>;
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
  h1: (inside, { id }) => <h1 id={String(id)}>{inside}</h1>,
  h2: (inside, { id }) => <h2 id={String(id)}>{renderAnchor(id, inside)}</h2>,
  h3: (inside, { id }) => <h3 id={String(id)}>{renderAnchor(id, inside)}</h3>,
  h4: (inside, { id }) => <h4 id={String(id)}>{renderAnchor(id, inside)}</h4>,
  // A paragraph of images is empty.
  p: (inside) => (isEmpty(inside) ? undefined : <p>{inside}</p>),
  blockquote: (inside) => <blockquote>{inside}</blockquote>,
  ul: (inside) => <ul>{inside}</ul>,
  ol: (inside, { start }) => <ol start={Number(start)}>{inside}</ol>,
  li: (inside) => <li>{inside}</li>,
  strong: (inside) => <strong>{inside}</strong>,
  em: (inside) => <em>{inside}</em>,
  del: (inside) => <del>{inside}</del>,
  br: () => <br />,
  hr: () => <hr />,
  a: renderLink,
  table: (inside) =>
    isEmpty(inside) ? undefined : (
      <div class="wide-table" tabindex="0" role="group" aria-label="Table">
        <table>{inside}</table>
      </div>
    ),
  thead: (inside) => <thead>{inside}</thead>,
  tbody: (inside) => <tbody>{inside}</tbody>,
  tr: (inside) => <tr>{inside}</tr>,
  // A column without a name has no header.
  th: (inside, { align }) =>
    isEmpty(inside) ? (
      <td />
    ) : (
      <th scope="col" class={toClass(align)}>
        {inside}
      </th>
    ),
  td: (inside, { align }) => <td class={toClass(align)}>{inside}</td>,
};

function renderAnchor(id: unknown, inside: Part): Html {
  return (
    <a class="anchor" href={`#${String(id)}`}>
      {inside}
    </a>
  );
}

function toClass(align: unknown): "number" | undefined {
  return align === "right" ? "number" : undefined;
}

function renderLink(inside: Part, { href }: Element["props"], { toTarget }: Context): Html {
  const target = toTarget(String(href));
  if (target === undefined) return <>{inside}</>;
  const isFileName = /^\w+\.md$/.test(toMarkup(inside));
  return <a href={target.href}>{isFileName ? target.title : inside}</a>;
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
    return (
      <pre tabindex="0" aria-label={label} class={isDrawing && "drawing"}>
        <code>{code}</code>
      </pre>
    );
  copied.count += 1;
  const id = `code-${copied.count}`;
  return renderCopyable(id, code, { label, what: `example ${copied.count}` });
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
  return Fragment({ children: part }).markup;
}

function childrenOf(element: unknown): Node[] {
  const children: unknown = Object(Object(element).props).children;
  return Array.isArray(children) ? children.filter(isNode) : [];
}

function isNode(value: unknown): value is Node {
  return typeof value === "string" || typeof Object(value).type === "string";
}
