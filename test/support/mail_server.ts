/** A real SMTP server in the test's process, and the emails that it received. @module */
import { SMTPServer } from "smtp-server";
import { eventually } from "./eventually.ts";

export type Received = {
  to: string[];
  /** Headers and body as received. */
  raw: string;
  /** By lowercase name, unfolded. */
  headers: ReadonlyMap<string, string>;
  /** The plain text, decoded. */
  text: string;
  html: string;
};

export type MailServer = {
  url: string;
  received: Received[];
  /** Rejects the next `count` emails with this code. */
  reject: (count: number, code: number) => void;
  /** Waits for `count` emails to an address and returns them. */
  waitFor: (to: string, count?: number) => Promise<Received[]>;
  close: () => Promise<void>;
} & AsyncDisposable;

/** With TLS, the server has the self-signed certificate of its package. */
/** Settings of a service that sends to this server at once, or in this interval. */
export const mailTo = ({ url }: Pick<MailServer, "url">, intervalS = 0.05) => ({
  ...{ url, from: { name: "", address: "no-reply@example.org" }, pace: { intervalS } },
});

export async function openMailServer({ isTls = false } = {}): Promise<MailServer> {
  const received: Received[] = [];
  let rejection = { count: 0, code: 0 };
  const server = new SMTPServer({
    secure: isTls,
    disabledCommands: ["STARTTLS", "AUTH"],
    logger: false,
    onRcptTo: (_address, _session, done) => {
      if (rejection.count === 0) return done();
      rejection = { ...rejection, count: rejection.count - 1 };
      done(Object.assign(new Error("not now"), { responseCode: rejection.code }));
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const to = session.envelope.rcptTo.map(({ address }) => address);
        received.push(readMail(to, Buffer.concat(chunks).toString("utf8")));
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  server.on("error", () => undefined);
  const sentTo = (to: string) => received.filter((mail) => mail.to.includes(to));
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return {
    url: `smtp${isTls ? "s" : ""}://127.0.0.1:${port}`,
    received,
    reject: (count, code) => {
      rejection = { count, code };
    },
    waitFor: async (to, count = 1) => {
      await eventually(() => sentTo(to).length >= count, {
        describe: () => `${sentTo(to).length} of ${count} mails to ${to}`,
      });
      return sentTo(to);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function readMail(to: string[], raw: string): Received {
  const [head = "", ...rest] = raw.split("\r\n\r\n");
  const headers = readHeaders(head);
  const boundary = /boundary="([^"]+)"/.exec(headers.get("content-type") ?? "")?.[1] ?? "";
  const parts = rest.join("\r\n\r\n").split(`--${boundary}`);
  const find = (type: string) => decodePart(parts.find((part) => part.includes(type)) ?? "");
  return { to, raw, headers, text: find("text/plain"), html: find("text/html") };
}

function readHeaders(head: string): Map<string, string> {
  const lines = head.replace(/\r\n[ \t]+/g, " ").split("\r\n");
  return new Map(
    lines.map((line): [string, string] => {
      const at = line.indexOf(":");
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
}

function decodePart(part: string): string {
  const at = part.indexOf("\r\n\r\n");
  const [head, body] = [part.slice(0, at), part.slice(at + 4)];
  if (/base64/i.test(head)) return Buffer.from(body, "base64").toString("utf8");
  if (!/quoted-printable/i.test(head)) return body;
  const bytes = body
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}

export type GreetedServer = { url: string; greetings: string[]; stop: () => void };

/** A server that checks only the name in the greeting (EHLO), as strict servers do, and accepts no email. */
export function openGreetedServer(accepts: (name: string) => boolean): GreetedServer {
  const greetings: string[] = [];
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => void socket.write("220 mail.example.org ESMTP\r\n"),
      data: (socket, data) => {
        const [verb = "", name = ""] = data.toString().trim().split(" ");
        if (!/^(EHLO|HELO)$/i.test(verb)) return void socket.end("221 bye\r\n");
        greetings.push(name);
        socket.write(accepts(name) ? "250 mail.example.org\r\n" : "504 5.5.2 rejected\r\n");
      },
    },
  });
  return { url: `smtp://127.0.0.1:${server.port}`, greetings, stop: () => server.stop(true) };
}
