import { fork } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Does `work` while another client, `support/<name>`, does its own against `target`: told to stop, it says what came of it and ends.
 * Rejects when it ended before.
 */
export async function beside<Result, News>(
  name: string,
  target: object,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly news: News }> {
  const client = fork(fileURLToPath(new URL(`./${name}${extname(import.meta.url)}`, import.meta.url)))
  const ended = once(client, 'exit')
  const told = once(client, 'message') as Promise<[News]>
  // What it ends with before it has told anything is said below.
  told.catch(() => undefined)
  client.send(target)
  const result = await work()
  if (client.connected) client.send('stop')
  const news = await Promise.race([told, ended.then(() => null)])
  await ended
  if (news === null) throw new Error(`${name} ended before it was told to`)
  return { result, news: news[0] }
}
