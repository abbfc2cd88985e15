/** The two forms of a mail: plain text, and markup that says the same. @module */
import { html } from "../pages/mod.ts";
import type { MailWords } from "./templates.ts";

const FOOT =
  "This mail was sent by the service that signs you in to your apps. Replies are not read.";

export function toPlainMail({ before, link, after }: MailWords): string {
  return [...before, `${link.name}:\n${link.url}`, ...after, FOOT].join("\n\n");
}

/** Mail programs ignore stylesheets, so that these styles stand where they apply. Nothing is loaded. */
export function toHtmlMail({ before, link, after }: MailWords): string {
  const page = html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"></head>
<body style="margin:0;padding:24px;font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;font-size:16px;line-height:1.5">
<div style="max-width:32rem;margin:0 auto">
${before.map((text) => html`<p>${text}</p>`)}
<p style="margin:24px 0"><a href="${link.url}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#23415f;color:#ffffff;font-weight:600;text-decoration:none">${link.name}</a></p>
${after.map((text) => html`<p>${text}</p>`)}
<p style="margin-top:32px;font-size:13px;opacity:0.75">${FOOT}</p>
</div>
</body>
</html>
`;
  return page.markup;
}
