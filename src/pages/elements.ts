/** The elements and attributes of pages. A name outside of these tables does not compile. @module */

/** The value of each attribute: text, a flag without a value, both, or one of the listed values. */
type Table = Readonly<Record<string, "text" | "flag" | "both" | readonly string[]>>;

const BOOLEAN = ["true", "false"] as const;

export const GLOBAL = {
  class: "text",
  id: "text",
  title: "text",
  style: "text",
  role: "text",
  lang: "text",
  dir: ["auto", "ltr", "rtl"],
  tabindex: "text",
  hidden: "flag",
  popover: "flag",
  autofocus: "flag",
  autocapitalize: ["none"],
  spellcheck: BOOLEAN,
  inputmode: ["decimal", "email", "numeric", "text", "url"],
  "aria-current": ["page", "true"],
  "aria-describedby": "text",
  "aria-hidden": BOOLEAN,
  "aria-invalid": BOOLEAN,
  "aria-label": "text",
  "aria-labelledby": "text",
  "aria-rowcount": "text",
  "aria-rowindex": "text",
  "aria-sort": ["ascending", "descending"],
} as const satisfies Table;

const FIELD = {
  name: "text",
  autocomplete: "text",
  maxlength: "text",
  minlength: "text",
  placeholder: "text",
  required: "flag",
  readonly: "flag",
} as const satisfies Table;

/** Each element with its own attributes. */
export const ELEMENTS = {
  a: { href: "text", rel: "text", target: "text", download: "both" },
  article: {},
  b: {},
  bdi: {},
  blockquote: {},
  body: {},
  br: {},
  button: { type: ["button", "submit"], name: "text", value: "text", popovertarget: "text" },
  code: {},
  datalist: {},
  dd: {},
  del: {},
  details: { open: "flag" },
  div: {},
  dl: {},
  dt: {},
  em: {},
  fieldset: {},
  figcaption: {},
  figure: {},
  footer: {},
  form: { action: "text", method: ["get", "post", "dialog"] },
  g: { transform: "text" },
  h1: {},
  h2: {},
  h3: {},
  h4: {},
  head: {},
  header: {},
  hr: {},
  html: {},
  i: {},
  img: { src: "text", alt: "text", width: "text", height: "text" },
  input: {
    ...FIELD,
    type: "text",
    value: "text",
    checked: "flag",
    form: "text",
    list: "text",
    min: "text",
    max: "text",
    pattern: "text",
    size: "text",
  },
  ins: {},
  kbd: {},
  label: { for: "text" },
  legend: {},
  li: {},
  link: { rel: "text", href: "text", type: "text" },
  main: {},
  meta: { charset: "text", name: "text", content: "text" },
  nav: {},
  noscript: {},
  ol: { start: "text" },
  option: { value: "text", selected: "flag" },
  p: {},
  path: { d: "text", fill: "text" },
  polyline: { points: "text" },
  pre: {},
  progress: { max: "text", value: "text" },
  rect: { x: "text", y: "text", width: "text", height: "text", fill: "text" },
  script: { src: "text", type: ["module"] },
  section: {},
  select: { name: "text", required: "flag" },
  span: {},
  strong: {},
  summary: {},
  svg: {
    viewBox: "text",
    height: "text",
    preserveAspectRatio: "text",
    "shape-rendering": "text",
    focusable: BOOLEAN,
  },
  table: {},
  tbody: {},
  tfoot: {},
  td: {},
  text: { x: "text", y: "text", "text-anchor": ["start", "middle", "end"] },
  textarea: { ...FIELD, rows: "text" },
  th: { scope: ["col", "row"] },
  thead: {},
  time: { datetime: "text" },
  title: {},
  tr: {},
  ul: {},
  wbr: {},
} as const satisfies Readonly<Record<string, Table>>;

/** Elements without an end tag. */
const VOID = ["br", "hr", "img", "input", "link", "meta", "wbr"] as const;
export const EMPTY: ReadonlySet<string> = new Set(VOID);

type Omitted = undefined | null | false;
type Value<Rule> = Rule extends "text"
  ? string | number
  : Rule extends "both"
    ? string | true
    : Rule extends "flag"
      ? boolean
      : Rule extends readonly (infer Choice)[]
        ? Choice
        : never;
type Attributes<Names> = {
  readonly [Name in keyof Names]?: Value<Names[Name]> | Omitted;
};
/** For scripts and styles. */
type Data = { readonly [Name in `data-${string}`]?: string | number | true | Omitted };
/** Nothing is escaped within a script, so it has no text. */
type Childless = (typeof VOID)[number] | "script";

export type Elements<Part> = {
  readonly [Name in keyof typeof ELEMENTS]: Attributes<typeof GLOBAL> &
    Attributes<(typeof ELEMENTS)[Name]> &
    Data &
    (Name extends Childless ? { readonly children?: never } : { readonly children?: Part });
};
