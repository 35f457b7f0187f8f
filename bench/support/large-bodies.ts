import { setTimeout as elapsed } from 'node:timers/promises'
import { beside } from './beside.ts'
import type { Program } from '../../src/cli/bench/programs.ts'

/** The first bodies start the workers, which then compile their code. */
const WARM_UP_MS = 10_000
const warm = new WeakSet<Program>()

/** Does `work` while another client sends large conversations, in turn, to an upstream of another dialect. */
export async function besideLargeBodies<Result>(program: Program, work: () => Promise<Result>): Promise<Result> {
  const target = { baseUrl: program.baseUrl, headers: program.headers }
  if (!warm.has(program)) {
    warm.add(program)
    await beside('large-client', target, () => elapsed(WARM_UP_MS))
  }
  const { result, news } = await beside<Result, { answered: number }>('large-client', target, work)
  if (news.answered === 0) throw new Error('no large body was answered')
  return result
}
