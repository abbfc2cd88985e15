/**
 * The declarations in the file of a column kind: its value (types, readers, JSON Schema, operators, sample), its SQL and its field.
 * They are separate exports without calls or spreads outside functions, so that a bundle contains only what it uses.
 *
 * @module
 */
import type { Aggregate, Operator, SearchOperator } from "./operators.ts";

/** A JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** A column without its name and its kind. Keys without a value are absent, never undefined. */
export type ColumnParts = {
  readonly required: boolean;
  readonly unique: boolean;
  readonly index: boolean;
  /** A JSON value of the column's kind; `"now"` on a timestamp is the time of the insert. */
  readonly default?: Json;
  /** The values of an enum, in sort order. */
  readonly values?: readonly string[];
  /** The target table of a ref. */
  readonly table?: string;
  /** The effect on the row when the row it references is deleted. Without it, the delete fails. */
  readonly onDelete?: OnDelete;
  /** An update that changes another value of the row sets this timestamp to the time of its write, unless it sets the timestamp itself. */
  readonly onUpdate?: "now";
};

export type OnDelete = "cascade" | "set null";

/** The parts of a column that only its kind has. */
export type Details = Pick<ColumnParts, "values" | "table" | "onDelete" | "onUpdate">;

/**
 * The TypeScript types of a kind: its values, what `.default()` accepts, what a rule for people compares, and further facts. Nothing
 * here exists at run time.
 */
export type Types<
  Value,
  Default = Value,
  Compared = Value | readonly Value[],
  Facts extends Partial<TypeFacts> = Record<never, never>,
> = { readonly value: Value; readonly default: Default; readonly compared: Compared } & Facts;

type TypeFacts = {
  /** What `.onUpdate()` accepts. */
  readonly onUpdate: "now";
  /** Whether a value can be the id of a person. */
  readonly isPerson: true;
  readonly isReference: true;
};

export type Read = { readonly value: Json } | { readonly issue: string };
/** A value that its column's reader has not read yet, or an error. */
export type Unread = { readonly value: unknown } | { readonly issue: string };
/** Reads a text as spreadsheets write it: the text in our notation, or an error. */
export type ReadText = (written: string) => { readonly value: string } | { readonly issue: string };

/** The notation of a file or of a pasted table. */
export type FileNotation = {
  /** A number in the notation of JSON. */
  readonly readNumber: ReadText;
  /** A text that starts with a day, with the day in ISO 8601. Any other text unchanged. */
  readonly readDay: ReadText;
  /** Without it, a time without an offset is an error. */
  readonly offsetOf?: OffsetOf | undefined;
};

/** The offset of a time that has none, such as `Z` for `2026-01-02T03:04:00`. */
export type OffsetOf = (local: string) => string;

type JsonSchema = { readonly [keyword: string]: unknown };

export type ValueKind = {
  /** The parts of a declaration that only this kind has: their keys, and how they are read. */
  readonly details?: {
    readonly keys: readonly string[];
    readonly read: (fields: ReadonlyMap<string, unknown>, report: DetailsReport) => Details;
  };
  /** What a rule for people compares with a column: constants, the person, or the rows of another table. */
  readonly compared: "values" | "person" | "reference" | "never";
  readonly default: {
    readonly wanted: string;
    /** Without it, the default is a value as the kind reads it. */
    readonly read?: (value: unknown) => Json | undefined;
    /** Defaults that are computed, in words: for the row of an insert, and for the rows that exist at a push. */
    readonly computed?: Computed<{ readonly insert: string; readonly push: string }>;
  };
  /** Reads a value of a request or a file that is not null. */
  readonly read: (value: unknown, column: Details) => Read;
  /** The value of a text in a query string, to be read like a JSON value. Without it, the text. */
  readonly fromQuery?: (text: string) => unknown;
  /** The value of a text in a CSV; the text itself if it is invalid. Without it, the text. */
  readonly fromCsv?: (text: string, notation: FileNotation) => Unread;
  /** A value of a file in JSON, whose notation can differ from a request's; it is not null. Without it, the value. */
  readonly fromJsonFile?: (value: unknown, notation: FileNotation) => Unread;
  /** Why an index cannot contain the values. */
  readonly unindexed?: string;
  /** Max columns of the kind in an index. */
  readonly maxPerIndex?: number;
  /** How numbers in an archive are read. Without it, a number that JavaScript would round is an error. */
  readonly archived?: "rounded" | "decimals";
  /** Whether an empty text in a CSV is a value, not null. */
  readonly hasEmpty?: (column: Details) => boolean;
  /** A value in the form that is equal for equal values. Without it, the value. */
  readonly toKey?: (value: Json) => Json;
  /** The schema of a value that is not null. */
  readonly schema: (column: Details) => JsonSchema;
  /** Schemas to which the schema refers, by name. */
  readonly components?: () => Readonly<Record<string, JsonSchema>>;
  /** The name of the schema's `format` in the API reference. */
  readonly formatName?: readonly [format: string, name: string];
  /** A valid value; `undefined` if only an existing row has one. */
  readonly sample: (column: Details) => Json | undefined;
  /** The operators of conditions, in the order of messages; without any, the values have no order. */
  readonly operators: readonly Operator[];
  /** The values that groups of rows can have of a column. Without it, none. */
  readonly aggregates?: readonly Aggregate[];
};

export type Comparable = string | number | boolean;
/** Compares two values of a column that are not null: less than 0, 0, or greater than 0. */
export type Compare = (a: Comparable, b: Comparable, column: Details) => number;

export type DetailsReport = {
  readonly add: (message: string) => void;
  readonly isReservedTable: (name: string) => boolean;
};

/** Something for each computed default, by its name. */
type Computed<Part> = Readonly<Record<string, Part>>;

/** An expression of SQL from another. */
export type Render = (expression: string) => string;

export type SqlKind = {
  /** The first release that knows the kind. Without it, 0.1.0. Not beside the values: scripts of pages, which have these, name no release. */
  readonly since?: string;
  /** The type, and how PostgreSQL prints it. `undefined`: each column has its own type. */
  readonly type: { readonly name: string; readonly printed: string } | undefined;
  /** Max bytes of a value in an index, padding included; `undefined`: unbounded, so that an index has a prefix or digest. */
  readonly width: number | undefined;
  /** A lowest and a highest value, in the order of an index. */
  readonly ends?: readonly [lowest: string, highest: string];
  /** Whether PostgreSQL knows that a condition fixes the value, and omits the column from an order. */
  readonly isFixed?: boolean;
  /** How an index of releases before 0.2.0 sorts it: by a double in a hidden column, and then, if that is rounded, by the value. */
  readonly formerKey?: "double" | "rounded";
  /** The next or the previous value, for kinds without values between; `undefined` if the type has none. */
  readonly step?: (value: string, by: 1 | -1) => string | undefined;
  /** The parts of a value by which an index is searched and sorted. Without them, by the value. */
  readonly parts?: SearchParts;
  /** Max stored bytes of a default, from the bytes of its text. */
  readonly storedBytes: (bytes: number) => number;
  /** The function that returns the size of an unbounded value without decompression. */
  readonly size?: "octet_length" | "pg_column_size";
  /** Whether a value in a body stays JSON; otherwise it is read from its text. */
  readonly isJson?: boolean;
  /** Whether responses contain the value as text, because a JSON number would lose digits. */
  readonly isSentAsText?: boolean;
  /** Whether responses contain a default as declared. */
  readonly isPrintedAsGiven?: boolean;
  /** Placeholders for what a declaration requires and a column set omits. */
  readonly placeholders?: (table: string, value: unknown) => Details;
  /** How values are compared, in words, for kinds with operators. */
  readonly comparedAs?: string;
  /** The column in a condition. Without it, the column. */
  readonly compared?: Render;
  /** Its type, if it is not that of the column. */
  readonly comparedType?: string;
  /** The value in a cursor, as text that the reader accepts. Without it, the text as PostgreSQL casts it. */
  readonly cursor?: Render;
  /** Defaults that are computed: the expression, given the time of the row, as PostgreSQL prints it, and its functions. */
  readonly computed?: Computed<{
    readonly render: Render;
    readonly printed: string;
    readonly calls: readonly string[];
  }>;
  /** A default in one notation, from the declaration or from PostgreSQL's text of this type. Without it, the text. */
  readonly defaultText?: (value: Json) => string;
  readonly printedText?: (text: string) => string;
  /** The text that the API returns for a value; the session's time zone is UTC. Without it, as PostgreSQL casts it. */
  readonly toText?: Render;
  /** A condition on a value that has a text. */
  readonly hasText?: Render;
  /** The texts that are values, and their conversion. */
  readonly fromText: {
    readonly check: (text: string, to: Conversion) => string;
    readonly toValue: (text: string, to: Conversion) => string;
  };
  /** The input of `to_jsonb` for a text of this kind, and a condition on it. Without them, the text. */
  readonly jsonInput?: Render;
  readonly jsonCheck?: Render;
  /** The time of a text of this kind, as text. Without it, the text. */
  readonly timeInput?: Render;
  /** The kinds to which a column can be converted and back to the same values. */
  readonly reversible: readonly string[];
  /** Other kinds whose values convert without loss, or not at all. */
  readonly exactFrom?: readonly string[];
};

/**
 * How an index for searches contains the values of a kind: by parts whose functions and comparisons PostgreSQL marks leakproof, so
 * that a condition can search them under row security. Conditions, orders and cursors are sent as texts.
 */
export type SearchParts = {
  /** The first part, in the order of the values. Different values can have the same start. */
  readonly start: IndexPart;
  /** The start in the condition of an index on its rows: without a collation, which a condition `is null` would not imply. */
  readonly tested: Omit<IndexPart, "type">;
  /** The second part: tells apart values with the same start. */
  readonly rest?: IndexPart;
  /** Tells apart all values with the same start and rest, in a unique index. */
  readonly exact?: Omit<IndexPart, "type">;
  /** The lowest and the highest rest; no value has the highest. */
  readonly restEnds?: readonly [lowest: string, highest: string];
  /** The highest start below a start that is a whole value; `undefined` below the lowest start. */
  readonly toBefore?: (start: string) => string | undefined;
  /** The functions of these expressions in an index. */
  readonly calls: readonly string[];
  /** A value as its parts; browsers have no MD5. */
  readonly toParts: (value: string, md5: (text: string) => string) => readonly string[];
  /** A value in a cursor as its parts, and then its exact part, if other values can have the same parts; `undefined` if it is not from a cursor. */
  readonly readCursor: (value: string) => readonly string[] | undefined;
  /** Whether the parts of a value differ from those of every other value. */
  readonly isWhole: (value: string) => boolean;
  /** The lowest start of values from this value on. */
  readonly toLowest: (value: string) => Edge;
  /** The highest start of values up to this value. */
  readonly toHighest: (value: string) => Edge;
  /** The lowest and the highest start of texts that begin with this text. */
  readonly toPrefix?: (prefix: string) => { readonly lowest: Edge; readonly highest: Edge };
};

/** An expression of a column in an index, the same as PostgreSQL prints it without quotation marks, and its type. */
export type IndexPart = {
  readonly render: Render;
  readonly printed: Render;
  readonly type: string;
};

/** A bound of starts, and whether it is exact: exactly the values within it have starts within it. */
export type Edge = { readonly value: string; readonly isExact: boolean };

/** The converted column, the SQL type of the converted values, and the previous kind. */
export type Conversion = {
  readonly column: Details;
  readonly type: string;
  readonly before: SqlKind;
};

export type FieldKind = {
  /** The type in words. The target of a reference follows it. */
  readonly label: string;
  /** A few characters that stand for the type in the head of a column. */
  readonly sign: string;
  /** A value that the column accepts, in words. */
  readonly expected: (column: Details) => string;
  readonly hint?: string | undefined;
  readonly control:
    | "date"
    | "line"
    | "number"
    | "moment"
    | "lines"
    | "json"
    | "choice"
    | "reference";
  /** The input of a `line`, which selects a keyboard. Without it, of any text. */
  readonly input?: "email" | "url";
  /** The values to choose from. */
  readonly choices?: (column: Details) => readonly string[];
  /** Whether an empty text is a value, and spaces at its ends are significant. */
  readonly isFreeText?: boolean;
  /** Whether a text field helps to find a value, so that typing in a grid opens it. */
  readonly isHelped?: boolean;
  /** A stored value as text in a form; `json` is its exact text. Without it, the value as text. */
  readonly toText?: (value: unknown, json: string) => string;
  /** Typed text as JSON. Without it, a JSON string. */
  readonly toJson?: (text: string) => string;
  readonly cell: "text" | "plain" | "mono" | "moment" | "json" | "pill" | "link" | "reference";
  /** The address that a value names, of http, https or mailto; `undefined` if it names none. */
  readonly toLink?: (text: string) => string | undefined;
  /** Whether values are compared by their digits. */
  readonly isNumeric?: boolean;
  readonly search: SearchField;
};

export type SearchField = {
  /** The operators of a condition, the most useful first. */
  readonly operators: readonly SearchOperator[];
  readonly labels?: Readonly<Partial<Record<SearchOperator, string>>>;
  readonly pattern?: { readonly pattern: string; readonly title: string };
  /** The same for a list of values. */
  readonly listPattern?: { readonly pattern: string; readonly title: string };
  /** The input of a value, if it is no text. */
  readonly input?: "date" | "datetime-local";
  /** The tests that find a text in any column. Without it, the choices that contain it. */
  readonly toTests?: (text: string) => readonly object[];
  /** A typed text as a value. Without it, the text. */
  readonly toValue?: (text: string) => string | number | boolean;
};
