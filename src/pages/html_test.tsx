/** @jsxImportSource #html @jsxRuntime automatic */
/** Markup is escaped by construction, in every attribute and every position of text; names outside the tables do not compile. */
import { describe, expect, test } from "bun:test";
import { Glob } from "bun";
import { ROOT } from "../../test/support/command.ts";
import { ELEMENTS, EMPTY, GLOBAL } from "./elements.ts";
import { jsx } from "./html.ts";
import { type Html, type Part, renderField } from "./mod.ts";

const HOSTILE = [
  `"><script>alert(1)</script>`,
  `' onfocus='alert(1)`,
  `" onfocus="alert(1)`,
  "&lt;b&gt; &amp; <b>",
  "</title></textarea></script><img src=x onerror=alert(1)>",
  "<!-- $& $1 $$ -->",
];
const UNESCAPED = /[<>"']|&(?!(?:lt|gt|quot|amp|#39);)/;
const DECODED: readonly [string, string][] = [
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&quot;", '"'],
  ["&#39;", "'"],
  ["&amp;", "&"],
];
const decode = (text: string) =>
  DECODED.reduce((decoded, [entity, character]) => decoded.replaceAll(entity, character), text);

const rows = Object.entries(ELEMENTS).map(([element, own]) => ({
  element,
  attributes: [...Object.keys(GLOBAL), ...Object.keys(own), "data-value"],
}));

describe.each(rows)("<$element>", ({ element, attributes }) => {
  const start = element === "html" ? "<!doctype html><html" : `<${element}`;
  const end = EMPTY.has(element) ? ">" : `></${element}>`;
  const inside = element === "textarea" ? ">\n</textarea>" : end;

  test("escapes each attribute", () => {
    for (const name of attributes)
      for (const value of HOSTILE) {
        const { markup } = jsx(element, { [name]: value });
        const written = markup.slice(`${start} ${name}="`.length, -`"${inside}`.length);
        expect(markup).toBe(`${start} ${name}="${written}"${inside}`);
        expect(written).not.toMatch(UNESCAPED);
        expect(decode(written)).toBe(value);
      }
  });

  test("escapes text, also in lists and next to elements", () => {
    if (EMPTY.has(element)) return;
    for (const value of HOSTILE) {
      const { markup } = jsx(element, { children: [value, [value, <br />], 1] });
      const text = markup.slice(start.length, -`</${element}>`.length).replace(/^>\n?/, "");
      expect(text.replace("<br>", "")).not.toMatch(UNESCAPED);
      expect(decode(text)).toBe(`${value}${value}<br>1`);
    }
  });

  test("omits what is not set, and writes flags without a value", () => {
    for (const name of attributes) {
      for (const value of [undefined, null, false])
        expect(jsx(element, { [name]: value }).markup).toBe(`${start}${inside}`);
      expect(jsx(element, { [name]: true }).markup).toBe(`${start} ${name}${inside}`);
    }
  });
});

test.each([
  { name: "nothing for an unset child", made: [undefined, null, false, ""], want: "<p></p>" },
  { name: "a number", made: 0, want: "<p>0</p>" },
  { name: "markup without a second escape", made: <b>{"<"}</b>, want: "<p><b>&lt;</b></p>" },
  { name: "parts without an element", made: <>a{["<"]}</>, want: "<p>a&lt;</p>" },
])("an element contains $name", ({ made, want }) => expect((<p>{made}</p>).markup).toBe(want));

test("an object with a field `markup` is not markup", () => {
  const forged: Part = JSON.parse('{"markup":"<script>alert(1)</script>"}');
  expect(() => <p>{forged}</p>).toThrow();
});

test("an attribute has a valid name", () => {
  const forged = { 'data-x onfocus="alert(1)"': "" };
  expect(() => <p {...forged} />).toThrow("Invalid name of an attribute");
});

/** Never called: each line must be an error of the compiler. */
export function writeInvalidMarkup(text: Html): Html[] {
  return [
    // @ts-expect-error: an unknown element
    <canvas />,
    // @ts-expect-error: an unknown attribute
    <p clas="a" />,
    // @ts-expect-error: a handler
    <p onclick="alert(1)" />,
    // @ts-expect-error: the attribute of another element
    <p href="/" />,
    // @ts-expect-error: an unknown value
    <form method="put" />,
    // @ts-expect-error: text for a flag
    <input required="required" />,
    // @ts-expect-error: a flag for text
    <input name />,
    // @ts-expect-error: markup in an attribute
    <p title={text} />,
    // @ts-expect-error: children of a void element
    <br {...{ children: "a" }} />,
    // @ts-expect-error: code in a script
    <script>alert(1)</script>,
    // @ts-expect-error: an object as a child
    <p>{{ markup: "<b>" }}</p>,
    // @ts-expect-error: a boolean as a child
    <p>{text.markup === ""}</p>,
    // @ts-expect-error: a way around the escape
    <p dangerouslySetInnerHTML={{ __html: "<b>" }} />,
  ];
}

/** TypeScript accepts any name with a hyphen, and Bun ignores a tsconfig.json in node_modules. */
test("files with markup name the runtime, and use attributes of the tables", async () => {
  const known = new Set(
    [GLOBAL, ...Object.values(ELEMENTS)].flatMap((attributes) => Object.keys(attributes)),
  );
  const paths = [...new Glob("{src,test}/**/*.tsx").scanSync(ROOT)].filter(
    (path) => !path.startsWith("test/fixtures/"),
  );
  expect(paths.length).toBeGreaterThan(70);
  const found: string[] = [];
  for (const path of paths) {
    const text = await Bun.file(`${ROOT}/${path}`).text();
    // A page of the tests that is written with React has the runtime of React.
    if (text.includes(' from "react";')) continue;
    if (!text.startsWith("/** @jsxImportSource #html @jsxRuntime automatic */\n")) found.push(path);
    for (const [, name = "", key = name] of text.matchAll(
      /\s([a-z]+-[a-z-]+)=["{]|"(aria-[a-z]+)"/g,
    ))
      if (!key.startsWith("data-") && !known.has(key)) found.push(`${path}: ${key}`);
  }
  expect(found).toEqual([]);
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
