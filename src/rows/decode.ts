/** Decodes the bytes of a file: UTF-8, UTF-16 by its mark, or an encoding that the user names. @module */

/** Encodings of spreadsheets and older programs, by their names on the web, and where they are used. */
export const ENCODINGS: readonly { readonly name: string; readonly label: string }[] = [
  { name: "utf-8", label: "UTF-8" },
  { name: "windows-1252", label: "Windows-1252 (Western Europe)" },
  { name: "windows-1250", label: "Windows-1250 (Central Europe)" },
  { name: "windows-1251", label: "Windows-1251 (Cyrillic)" },
  { name: "windows-1253", label: "Windows-1253 (Greek)" },
  { name: "windows-1254", label: "Windows-1254 (Turkish)" },
  { name: "windows-1255", label: "Windows-1255 (Hebrew)" },
  { name: "windows-1256", label: "Windows-1256 (Arabic)" },
  { name: "windows-874", label: "Windows-874 (Thai)" },
  { name: "shift_jis", label: "Shift_JIS (Japanese)" },
  { name: "euc-jp", label: "EUC-JP (Japanese)" },
  { name: "gb18030", label: "GB18030 (Simplified Chinese)" },
  { name: "big5", label: "Big5 (Traditional Chinese)" },
  { name: "euc-kr", label: "EUC-KR (Korean)" },
  { name: "macintosh", label: "Macintosh" },
  { name: "utf-16le", label: "UTF-16 LE" },
  { name: "utf-16be", label: "UTF-16 BE" },
];

/** Text, or the reason why the rest of the file cannot be read. */
type Decoded = { readonly text: string } | { readonly issue: string };

const HEAD_BYTES = 4;

/** The text of a file in pieces. A byte order mark has precedence over the named encoding. */
export async function* decodeChunks(
  chunks: AsyncIterable<Uint8Array>,
  encoding = "utf-8",
): AsyncGenerator<Decoded, void> {
  let head: Uint8Array = new Uint8Array();
  let decoder: TextDecoder | undefined;
  const decode = (bytes: Uint8Array, isEnd: boolean): Decoded => {
    decoder ??= new TextDecoder(findEncoding(bytes) ?? encoding, { fatal: true, ignoreBOM: true });
    try {
      return { text: decoder.decode(bytes, { stream: !isEnd }) };
    } catch {
      return { issue: explainInvalid(decoder.encoding, bytes) }; // the decoder's message has no details
    }
  };
  for await (const bytes of chunks) {
    const joined = decoder === undefined ? concatenate(head, bytes) : bytes;
    head = joined;
    if (joined.length < HEAD_BYTES && decoder === undefined) continue;
    const issue = decoder === undefined ? findDocument(joined) : undefined;
    const decoded = issue === undefined ? decode(joined, false) : { issue };
    yield decoded;
    if ("issue" in decoded) return;
  }
  yield decode(decoder === undefined ? head : new Uint8Array(), true);
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}

/** UTF-16 by its mark, or because every second byte of its first characters, such as names, is zero. */
function findEncoding([first, second, third, fourth]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first !== 0 && second === 0 && third !== 0 && fourth === 0) return "utf-16le";
  if (first === 0 && second !== 0 && third === 0 && fourth !== 0) return "utf-16be";
  return undefined;
}

/** The first bytes of files that are no text: zip archives such as .xlsx, .ods and .numbers, and .xls. */
function findDocument(bytes: Uint8Array): string | undefined {
  const start = [...bytes.subarray(0, HEAD_BYTES)].map((byte) =>
    byte.toString(16).padStart(2, "0"),
  );
  return ["504b0304", "d0cf11e0"].includes(start.join(""))
    ? "Is a document, not text: save the sheet as CSV in UTF-8"
    : undefined;
}

function explainInvalid(encoding: string, bytes: Uint8Array): string {
  if (encoding !== "utf-8") return `Is not ${encoding} from here on: choose its encoding`;
  return `Is not UTF-8 from here on: save the file as UTF-8, or choose its encoding, perhaps ${guessEncoding(bytes)}`;
}

/** Only a hint: in Japanese most characters begin with a byte that Western text has for a few signs, such as quotes. */
function guessEncoding(bytes: Uint8Array): string {
  const count = (from: number, to: number) =>
    bytes.reduce((sum, byte) => sum + (byte >= from && byte <= to ? 1 : 0), 0);
  return count(0x81, 0x9f) > count(0xc0, 0xff) ? "shift_jis" : "windows-1252";
}
