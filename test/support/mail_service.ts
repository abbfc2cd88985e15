import type { IdentitySettings } from "../../src/identity/mod.ts";
import { eventually } from "./eventually.ts";
import { type MailServer, openMailServer } from "./mail_server.ts";
import { openTestService, type TestService } from "./service.ts";

export type MailService = { mails: MailServer; service: TestService; close: () => Promise<void> };

/** Waits until the database knows that emails are sent: before that, nothing queues an email. */
export async function openMailService(
  settings: Partial<IdentitySettings> = {},
): Promise<MailService> {
  const mails = await openMailServer();
  const service = await openTestService({
    identity: (port) => ({
      identityUrl: `http://127.0.0.1:${port}`,
      cookieDomain: "example.org",
      ...settings,
    }),
    service: {
      mail: {
        url: mails.url,
        from: { name: "Rowhouse", address: "no-reply@example.org" },
        pace: { intervalS: 0.05, leaseS: 0, retryS: 0.05 },
      },
    },
  });
  await eventually(async () => {
    const [row] = await service.query<{ is_there: boolean }>(
      "select rowhouse.has_mail_sender() as is_there",
    );
    return row?.is_there === true;
  });
  const close = async () => {
    await service.close();
    await mails.close();
  };
  return { mails, service, close };
}
