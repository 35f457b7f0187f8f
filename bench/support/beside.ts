import { fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The load stands for clients on other machines: it takes only what the gateway and the measured requests leave of this one. */
const PRIORITY = constants.priority.PRIORITY_LOW

/**
 * Does `work` while another process, `support/<name>`, loads `target`. After the work it gets `stop`, sends its result and ends.
 * Rejects when it ends earlier.
 */
export async function beside<Result, News>(
  name: string,
  target: object,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly news: News }> {
  const client = fork(fileURLToPath(new URL(`./${name}${extname(import.meta.url)}`, import.meta.url)))
  if (client.pid !== undefined) setPriority(client.pid, PRIORITY)
  const ended = once(client, 'exit')
  const told = once(client, 'message') as Promise<[News]>
  // The error for a process that ends without a result is thrown below.
  told.catch(() => undefined)
  client.send(target)
  const result = await work()
  if (client.connected) client.send('stop')
  const news = await Promise.race([told, ended.then(() => null)])
  await ended
  if (news === null) throw new Error(`${name} ended before it sent its result`)
  return { result, news: news[0] }
}
