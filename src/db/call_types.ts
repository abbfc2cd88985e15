/** Types of calls of the service's SQL functions, derived from their shapes. @module */

type Values = {
  bool: boolean;
  /** Hexadecimal text. */
  bytea: string;
  float8: number;
  int2: number;
  int4: number;
  int8: number;
  json: unknown;
  jsonb: unknown;
  text: string;
  timestamptz: Date;
  uuid: string;
  visitor: PresentedVisitor;
};
/** A browser's credentials: both cookies as lists of `<id>.<proof>`, the idle limit of sessions, and the client's address. */
export type PresentedVisitor = {
  session_cookie: string;
  identity_cookie: string;
  idle_s: number;
  client_address: string;
};

type ItemType = keyof Values;
export type SqlType = ItemType | `${ItemType}[]`;
/** Ends with `?` if the argument can be null. */
type ReturnedType = SqlType | `${SqlType}?`;

export type FunctionShape = {
  /** Set if a call can be repeated. */
  readonly retry?: "safe";
  readonly parameters: Readonly<Record<string, SqlType>>;
  /** One value or the columns of a row. */
  readonly returns: "void" | ReturnedType | Readonly<Record<string, ReturnedType>>;
  readonly isSet?: true;
  /**
   * The argument that proves or records the caller, which is not in `parameters`: `actor` is the operator, `visitor` the
   * credentials of a browser.
   */
  readonly caller?: "operator" | "visitor";
  /** The values that an administrator passes to run this action in the Console. */
  readonly input?: Readonly<Record<string, SqlType>>;
  /** Requirements for the visitor in addition to the role. */
  readonly needs?: "recent sign-in";
};

type ValueOf<Type> = Type extends "void"
  ? undefined
  : Type extends `${infer Sure}?`
    ? ValueOf<Sure> | null
    : Type extends `${infer Item extends ItemType}[]`
      ? Values[Item][]
      : Type extends ItemType
        ? Values[Type]
        : never;

type PassedOf<Type> = Type extends `${infer Item extends ItemType}[]`
  ? readonly Values[Item][]
  : Type extends "bytea"
    ? string | Uint8Array
    : ValueOf<Type>;

/** Values by name; `undefined` is passed as null. */
export type PassedValues<Types> = {
  readonly [Name in keyof Types]: PassedOf<Types[Name]> | null | undefined;
};
export type ArgumentsOf<Shape extends FunctionShape> = PassedValues<Shape["parameters"]>;

type RowOf<Returns> = Returns extends string
  ? ValueOf<Returns>
  : { [Column in keyof Returns]: ValueOf<Returns[Column]> };

export type ResultOf<Shape extends FunctionShape> = Shape extends { isSet: true }
  ? RowOf<Shape["returns"]>[]
  : RowOf<Shape["returns"]>;
