import { fork } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Program } from './programs.ts'

const CLIENT = fileURLToPath(new URL(`./large-client${extname(import.meta.url)}`, import.meta.url))

/** Does `work` while one client sends large conversations, one after the other, to an upstream of another dialect. */
export async function besideLargeBodies<Result>(program: Program, work: () => Promise<Result>): Promise<Result> {
  const client = fork(CLIENT)
  const ended = once(client, 'exit')
  const told = once(client, 'message')
  // What it ends with before it has told anything is said below.
  told.catch(() => undefined)
  client.send({ baseUrl: program.baseUrl, headers: program.headers })
  const result = await work()
  if (client.connected) client.send('stop')
  const [news] = (await Promise.race([told, ended])) as [{ answered?: number } | number | null]
  await ended
  if (typeof news !== 'object' || (news?.answered ?? 0) === 0) throw new Error('no large body was answered')
  return result
}
