/** @jsxImportSource #html @jsxRuntime automatic */
/** Sends queued emails: claims an email, derives its link, delivers and settles it. Never logs an address or a link. @module */

import { type Brand, readBrand } from "../pages/mod.ts";
import {
  type ClaimedMail,
  claimMails,
  findMailedLink,
  isMailable,
  type MailLinkDeps,
  settleMail,
} from "../records/mails/mod.ts";
import type { MailSettings } from "./settings.ts";
import { type MailText, writeMail } from "./templates.ts";
import { type Delivery, type Letter, makeDeliver } from "./transport.ts";

/** The outcome of one email, for the log and the metrics. */
export type MailResult = {
  mailId: number;
  template: string;
  outcome: Delivery | "void";
  /** The mail server's error code, if delivery failed. */
  reason?: string;
};

type MailSenderDeps = MailLinkDeps & {
  mail: MailSettings;
  record: (record: MailResult) => void;
  /** How long no other process claims the same email. */
  leaseS: number;
  /** Delay before the first retry. */
  retryS: number;
};

/** Sends the oldest queued email. Returns whether more emails may be queued. */
type MailSender = () => Promise<boolean>;

export function makeMailSender(deps: MailSenderDeps): MailSender {
  const deliver = makeDeliver(deps.mail);
  return async () => {
    const { leaseS, retryS } = deps;
    // Claim one email at a time: if this process dies, at most one email is sent twice.
    const [mail] = await claimMails(deps, { maxRows: 1, leaseS, retryS });
    if (mail === undefined) return false;
    const record = await send(deps, mail, deliver);
    deps.record({ mailId: mail.id, template: mail.template, ...record });
    return true;
  };
}

async function send(
  deps: MailSenderDeps,
  mail: ClaimedMail,
  deliver: ReturnType<typeof makeDeliver>,
): Promise<Pick<MailResult, "outcome" | "reason">> {
  const { pagesUrl } = deps.mail;
  const linkText = await findMailedLink(deps, mail);
  const text = isMailable(deps, mail) ? writeMail(mail, { pagesUrl, linkText }) : undefined;
  if (text === undefined) {
    await settleMail(deps, mail.id, "void");
    return { outcome: "void" };
  }
  const { subject } = text;
  const brand = readBrand();
  const letter = {
    to: mail.email,
    subject,
    text: toPlainMail(text, brand),
    html: toHtmlMail(text, brand),
    attachments: toAttachments(brand),
  };
  const { delivery, reason } = await deliver(letter);
  if (delivery !== "failed") await settleMail(deps, mail.id, delivery);
  return { outcome: delivery, ...(reason === undefined ? {} : { reason }) };
}

/** The logo is attached: emails load nothing from the network. */
const LOGO_CID = "organization-logo";

function toAttachments({ logo }: Brand): Letter["attachments"] {
  if (logo === undefined) return [];
  const content = Buffer.from(logo);
  return [{ filename: "logo.png", contentType: "image/png", cid: LOGO_CID, content }];
}

function toFoot({ name }: Brand): string {
  const of = name === undefined ? "" : ` of ${name}`;
  return `Sent by the sign-in service${of}. Replies to this email are not read.`;
}

function toPlainMail({ before, link, after }: MailText, brand: Brand = {}): string {
  return [...before, `${link.name}:\n${link.url}`, ...after, toFoot(brand)].join("\n\n");
}

/** Inlines all styles, because mail clients ignore stylesheets. */
function toHtmlMail({ before, link, after }: MailText, brand: Brand = {}): string {
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="color-scheme" content="light dark" />
      </head>
      <body style="margin:0;padding:24px;font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;font-size:16px;line-height:1.5">
        <div style="max-width:32rem;margin:0 auto">
          {brand.logo !== undefined && (
            <p>
              <img src={`cid:${LOGO_CID}`} alt="" height="32" />
            </p>
          )}
          {brand.name !== undefined && <p style="font-weight:600">{brand.name}</p>}
          {before.map((text) => (
            <p>{text}</p>
          ))}
          <p style="margin:24px 0">
            <a
              href={link.url}
              style="display:inline-block;padding:12px 20px;border-radius:8px;background:#23415f;color:#ffffff;font-weight:600;text-decoration:none"
            >
              {link.name}
            </a>
          </p>
          {after.map((text) => (
            <p>{text}</p>
          ))}
          <p style="margin-top:32px;font-size:13px;opacity:0.75">{toFoot(brand)}</p>
        </div>
      </body>
    </html>
  );
  return page.markup;
}
