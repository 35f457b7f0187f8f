import { beside } from './beside.ts'
import type { Program } from './programs.ts'

/** Does `work` while one client sends large conversations, one after the other, to an upstream of another dialect. */
export async function besideLargeBodies<Result>(program: Program, work: () => Promise<Result>): Promise<Result> {
  const target = { baseUrl: program.baseUrl, headers: program.headers }
  const { result, news } = await beside<Result, { answered: number }>('large-client', target, work)
  if (news.answered === 0) throw new Error('no large body was answered')
  return result
}
