import { describe, expect, test } from "bun:test";
import { cases } from "../../test/support/cases.ts";
import { renderMarkdown } from "./mod.ts";

const toTarget = (href: string) =>
  href.startsWith("javascript:") ? undefined : { href, title: "Its title" };
const render = (text: string) => renderMarkdown(text, { toTarget }).content.markup.trim();

describe("Markdown is rendered with", () => {
  test.each(cases("name", "text", "want")`
    embedded markup removed             | <script>x</script>\n\n<!-- y -->\n\nz              | <p>z</p>
    comments within a line removed      | 1 day<!-- A -->.                                  | <p>1 day.</p>
    inline markup as text               | a <b>c                                            | <p>a &lt;b&gt;c</p>
    no pictures                         | ![a](b.png)\n\nc                                  | <p>c</p>
    no table of pictures                | \u007c ![a](b.png) \u007c\n\u007c---\u007c\n\nc   | <p>c</p>
    code as text                        | \`<b>\`                                           | <p><code>&lt;b&gt;</code></p>
    links to allowed addresses          | [a](b"c)                                          | <p><a href="b&quot;c">a</a></p>
    no links to other schemes           | [a](javascript:b)                                 | <p>a</p>
    the title instead of the file name  | [a.md](a.md#b)                                    | <p><a href="a.md#b">Its title</a></p>
    headings that links can target      | ## A \`b\` & c                                    | <h2 id="a-b-c"><a class="anchor" href="#a-b-c">A <code>b</code> &amp; c</a></h2>
    a drawing whose lines never wrap    | <!-- not run: a drawing -->\n\`\`\`text\n── <\n\`\`\` | <pre tabindex="0" aria-label="Drawing" class="drawing"><code>── &lt;\n</code></pre>
  `)("$name", ({ text, want }) => expect(render(text)).toBe(want));

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
