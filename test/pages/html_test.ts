import { describe, expect, test } from "bun:test";
import { html, renderField } from "../../src/pages/mod.ts";

describe("html inserts", () => {
  const hostile = `<script>alert("1")</script>&'`;
  const escaped = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;";
  test.each([
    { name: "escaped text", made: html`<p>${hostile}</p>`, want: `<p>${escaped}</p>` },
    {
      name: "an escaped attribute value",
      made: html`<a title="${hostile}">`,
      want: `<a title="${escaped}">`,
    },
    {
      name: "its own markup without a second escape",
      made: html`<p>${html`<b>${"<"}</b>`}</p>`,
      want: "<p><b>&lt;</b></p>",
    },
    { name: "lists of text and markup", made: html`${["<", html`<br>`, 1]}`, want: "&lt;<br>1" },
    { name: "no text for an empty value", made: html`a${undefined}b${false}c${""}d`, want: "abcd" },
    {
      name: "replacement patterns unchanged",
      made: html`${"$& $1 $$"}`,
      want: "$&amp; $1 $$",
    },
  ])("$name", ({ made, want }) => expect(made.markup).toBe(want));
});

test("a field references its hint and its issues, which are escaped", () => {
  const { markup } = renderField({
    name: "email",
    label: "A <label>",
    type: "email",
    autocomplete: "username",
    maxLength: 254,
    value: '" onfocus="alert(1)',
    hint: "Hint",
    issues: ["One", "<Two>"],
  });
  expect(markup).toContain('aria-describedby="email-hint email-issue" aria-invalid="true"');
  expect(markup).toContain('value="&quot; onfocus=&quot;alert(1)"');
  expect(markup).toContain("<li>One</li><li>&lt;Two&gt;</li>");
  expect(markup).toContain("A &lt;label&gt;");
});
