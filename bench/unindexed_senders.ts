/**
 * The callers of one app that send queries without an index, in their own process: others in it would wait for a free socket. Reads a
 * {@linkcode SendersPlan} from standard input and prints the number of responses by status.
 *
 * @module
 */
export type SendersPlan = {
  url: string;
  key: string;
  paths: readonly string[];
  senders: number;
  seconds: number;
  /** The time until the next request after a rejection, or after every response. */
  pauseMs: number;
  isSteady: boolean;
};

const plan = JSON.parse(await Bun.stdin.text()) as SendersPlan;
const headers = { authorization: `Bearer ${plan.key}` };
const sent: Record<string, number> = {};
const endsAt = performance.now() + plan.seconds * 1000;

async function send(_: unknown, sender: number): Promise<void> {
  for (let count = sender; performance.now() < endsAt; count++) {
    const path = plan.paths[count % plan.paths.length] ?? "";
    const response = await fetch(plan.url + path, { headers });
    await response.arrayBuffer();
    const { status } = response;
    sent[status] = (sent[status] ?? 0) + 1;
    if (plan.isSteady || status === 429 || status === 503) await Bun.sleep(plan.pauseMs);
  }
}

await Promise.all(Array.from({ length: plan.senders }, send));
console.log(JSON.stringify(sent));
