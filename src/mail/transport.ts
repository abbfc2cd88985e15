/**
 * SMTP delivery. The only importer of "nodemailer", which is loaded with the first mail. Never logs, and reads no files or
 * URLs.
 *
 * @module
 */
import type { Transporter } from "nodemailer";
import type { MailFrom, MailSettings } from "./settings.ts";

export type Letter = {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Images that the HTML references by `cid`. */
  attachments: { filename: string; contentType: string; cid: string; content: Buffer }[];
};
export type Delivery = "sent" | "rejected" | "failed";

/** Sends one email; never throws. */
export type Deliver = (letter: Letter) => Promise<{ delivery: Delivery; reason?: string }>;

const TIMEOUT_MS = 10_000;
const OWN_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export function makeDeliver({ url, from }: MailSettings): Deliver {
  let transport: Promise<Transporter> | undefined;
  return async (letter) => {
    transport ??= openTransport(url);
    try {
      await (await transport).sendMail({ ...letter, from: toSender(from), headers: HEADERS });
      return { delivery: "sent" };
    } catch (error) {
      return readFailure(error);
    }
  };
}

/** Connects and authenticates without sending an email. Returns an error code, never the server's message. */
export async function tryServer(url: string): Promise<{ reason: string } | undefined> {
  const transport = await openTransport(url);
  try {
    await transport.verify();
    return undefined;
  } catch (error) {
    return { reason: readFailure(error).reason };
  } finally {
    transport.close();
  }
}

async function openTransport(url: string): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  const { protocol, hostname, port, username, password } = new URL(url);
  const isTls = protocol === "smtps:";
  const auth = { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  return createTransport({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (isTls ? 465 : 587),
    secure: isTls,
    // The password is never sent unencrypted.
    requireTLS: !isTls && username !== "" && !OWN_HOST.test(hostname),
    ...(username === "" ? {} : { auth }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: false,
  });
}

/** Prevents automatic replies. @see https://www.rfc-editor.org/rfc/rfc3834#section-5 */
const HEADERS = { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" };

function toSender({ name, address }: MailFrom): string | { name: string; address: string } {
  return name === "" ? address : { name, address };
}

/** A rejected recipient is permanent; all other failures can be retried. Discards the server's message. */
function readFailure(error: unknown): { delivery: Delivery; reason: string } {
  const { code, responseCode } = (error ?? {}) as { code?: unknown; responseCode?: unknown };
  const smtpCode = typeof responseCode === "number" ? responseCode : undefined;
  const reason = `${typeof code === "string" ? code : "unknown"}${smtpCode === undefined ? "" : ` ${smtpCode}`}`;
  const isRejected = code === "EENVELOPE" && smtpCode !== undefined && smtpCode >= 500;
  return { delivery: isRejected ? "rejected" : "failed", reason };
}
