/**
 * SMTP delivery. The only importer of "nodemailer", which is loaded with the first mail. Never logs, and reads no files or
 * URLs.
 *
 * @module
 */
import type { Transporter } from "nodemailer";
import { type MailFrom, type MailSettings, toGreeting } from "./settings.ts";

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
type Deliver = (letter: Letter) => Promise<{ delivery: Delivery; reason?: string }>;

const TIMEOUT_MS = 10_000;
const OWN_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export function makeDeliver(settings: MailSettings): Deliver {
  const { from } = settings;
  let transport: Promise<Transporter> | undefined;
  return async (letter) => {
    transport ??= openTransport(settings);
    try {
      await (await transport).sendMail({ ...letter, from: toSender(from), headers: HEADERS });
      return { delivery: "sent" };
    } catch (error) {
      return readFailure(error);
    }
  };
}

/** An error code, never the server's message, and the step that failed. */
export type MailAttempt = {
  greeting: string;
  rejection?: { reason: string; step: "connection" | "greeting" | "login" };
};

/** Connects and authenticates without sending an email. */
export async function tryServer(settings: MailSettings): Promise<MailAttempt> {
  const transport = await openTransport(settings);
  const greeting = toGreeting(settings);
  try {
    await transport.verify();
    return { greeting };
  } catch (error) {
    return { greeting, rejection: { reason: readFailure(error).reason, step: toStep(error) } };
  } finally {
    transport.close();
  }
}

function toStep(error: unknown): "connection" | "greeting" | "login" {
  const { code, command } = (error ?? {}) as { code?: unknown; command?: unknown };
  if (command === "EHLO" || command === "HELO" || command === "LHLO") return "greeting";
  return code === "EAUTH" || (typeof command === "string" && command.startsWith("AUTH"))
    ? "login"
    : "connection";
}

async function openTransport({ url, ...settings }: MailSettings): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  const { protocol, hostname, port, username, password } = new URL(url);
  const isTls = protocol === "smtps:";
  const auth = { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  return createTransport({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (isTls ? 465 : 587),
    secure: isTls,
    name: toGreeting(settings),
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
