/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * Marks keywords, strings and comments of code when a page is rendered, so that a stylesheet can color them. The text does not
 * change.
 *
 * @module
 */
import type { Part } from "./html.ts";

type Rule = { readonly comment: string; readonly string: string; readonly keywords: string };

const DOUBLE = String.raw`"(?:[^"\\\n]|\\.)*"`;
const SINGLE = String.raw`'(?:[^'\\\n]|\\.)*'`;
const TEMPLATE = "`(?:[^`\\\\]|\\\\.)*`";
const HASH = String.raw`(?<=^|\s)#[^\n]*`;

const TS: Rule = {
  comment: String.raw`//[^\n]*|/\*[\s\S]*?\*/`,
  string: `${DOUBLE}|${SINGLE}|${TEMPLATE}`,
  keywords:
    "import|from|export|default|const|let|await|async|function|return|if|else|for|of|in|new|throw|try|catch|type|typeof|satisfies|as|class|extends|true|false|null|undefined",
};
const SHELL: Rule = {
  comment: HASH,
  string: `${DOUBLE}|${SINGLE}|\\$\\w+`,
  keywords: "export|if|then|fi|for|do|done|while|cd|sudo",
};
const PYTHON: Rule = {
  comment: HASH,
  string: `${DOUBLE}|${SINGLE}`,
  keywords: "import|from|as|with|def|return|if|else|for|in|not|and|or|True|False|None|print",
};
const SQL: Rule = {
  comment: "--[^\\n]*",
  string: SINGLE,
  keywords:
    "select|from|where|insert|into|update|set|delete|create|alter|drop|table|index|function|grant|revoke|on|to|values|returning|order|by|limit|and|or|not|null|primary|key|references|unique|role|user|policy|with|as|begin|end",
};
const SETTINGS: Rule = { comment: HASH, string: DOUBLE, keywords: "true|false" };
const JSON_RULE: Rule = { comment: "(?!)", string: DOUBLE, keywords: "true|false|null" };

const RULES: Readonly<Record<string, Rule>> = {
  ts: TS,
  sh: SHELL,
  python: PYTHON,
  sql: SQL,
  ini: SETTINGS,
  yaml: SETTINGS,
  nginx: SETTINGS,
  caddyfile: SETTINGS,
  json: JSON_RULE,
};

/** The address of `rowhouse dev`, where an example sets the one of the reader's service. */
const LOCAL_ADDRESS = String.raw`(?<=export (?:ROWHOUSE|VITE_SERVICE)_URL=)http://(?:localhost|127\.0\.0\.1|api\.rowhouse\.localhost):8787`;

const TOKENS = new Map(
  Object.entries(RULES).map(([language, { comment, string, keywords }]) => [
    language,
    new RegExp(
      `(?<address>${LOCAL_ADDRESS})|(?<comment>${comment})|(?<string>${string})|(?<![\\w$.-])(?<keyword>${keywords})(?![\\w$-])|(?<![\\w$.-])(?<number>\\d[\\d_.]*)(?![\\w-])`,
      language === "sql" ? "gim" : "gm",
    ),
  ]),
);

/** The highlighted code. `language` is the name after the three backticks. */
export function highlight(code: string, language: string | undefined): Part {
  const tokens = TOKENS.get(language ?? "");
  if (tokens === undefined) return renderText(code);
  const parts: Part[] = [];
  let end = 0;
  for (const match of code.matchAll(tokens)) {
    const [kind = "", text = ""] =
      Object.entries(match.groups ?? {}).find(([, text]) => text) ?? [];
    parts.push(renderText(code.slice(end, match.index)));
    parts.push(
      kind === "address" ? (
        <span data-origin>{text}</span>
      ) : (
        <span class={`code-${kind}`}>{renderText(text)}</span>
      ),
    );
    end = match.index + match[0].length;
  }
  return [...parts, renderText(code.slice(end))];
}

/** The placeholder for the address of the reader's service, or the one of `rowhouse dev` in a quoted URL of a request. */
const EXAMPLE_ADDRESS = /(https:\/\/api\.example\.org|(?<=^["'])http:\/\/localhost:8787(?=\/v1\/))/;

/** Marks each example address in a text, so that a script can replace it with the address of the reader's service. */
export function renderText(text: string): Part {
  return text
    .split(EXAMPLE_ADDRESS)
    .map((part, index) => (index % 2 === 1 ? <span data-origin>{part}</span> : part));
}
