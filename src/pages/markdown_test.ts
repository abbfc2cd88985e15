import { describe, expect, test } from "bun:test";
import { renderMarkdown } from "./mod.ts";

const toTarget = (href: string) =>
  href.startsWith("javascript:") ? undefined : { href, title: "Its title" };
const render = (text: string) => renderMarkdown(text, { toTarget }).content.markup.trim();

describe("Markdown is rendered with", () => {
  test.each([
    {
      name: "embedded markup removed",
      text: "<script>x</script>\n\n<!-- y -->\n\nz",
      want: "<p>z</p>",
    },
    { name: "comments within a line removed", text: "1 day<!-- A -->.", want: "<p>1 day.</p>" },
    { name: "inline markup as text", text: "a <b>c", want: "<p>a &lt;b&gt;c</p>" },
    { name: "no pictures", text: "![a](b.png)\n\nc", want: "<p>c</p>" },
    { name: "no table of pictures", text: "| ![a](b.png) |\n|---|\n\nc", want: "<p>c</p>" },
    { name: "code as text", text: "`<b>`", want: "<p><code>&lt;b&gt;</code></p>" },
    {
      name: "links to allowed addresses",
      text: '[a](b"c)',
      want: '<p><a href="b&quot;c">a</a></p>',
    },
    { name: "no links to other schemes", text: "[a](javascript:b)", want: "<p>a</p>" },
    {
      name: "the title of a page instead of its file name",
      text: "[a.md](a.md#b)",
      want: '<p><a href="a.md#b">Its title</a></p>',
    },
    {
      name: "headings that links can target",
      text: "## A `b` & c",
      want: '<h2 id="a-b-c"><a class="anchor" href="#a-b-c">A <code>b</code> &amp; c</a></h2>',
    },
    {
      name: "a drawing whose lines never wrap",
      text: "<!-- not run: a drawing -->\n```text\n── <\n```",
      want: '<pre tabindex="0" aria-label="Drawing" class="drawing"><code>── &lt;\n</code></pre>',
    },
  ])("$name", ({ text, want }) => expect(render(text)).toBe(want));

  test("a copy button for commands, and no button for output", () => {
    const markup = render("```sh\na\n```\n```text\nb\n```\n```ts\nc\n```");
    expect([...markup.matchAll(/data-copy="([^"]+)"/g)].map(([, id]) => id)).toEqual([
      "code-1",
      "code-2",
    ]);
    expect(markup).toContain('<code id="code-2">c\n</code>');
  });

  test("aligned table columns", () => {
    const markup = render("| a | |\n|--:|---|\n| 1 | `x` |");
    expect(markup).toContain('<th scope="col" class="number">a</th><td></td>');
    expect(markup).toContain('<td class="number">1</td><td><code>x</code></td>');
  });
});
