import type { Program } from '../../src/cli/bench/programs.ts'
import type { Pair, Side } from './statistics.ts'

/**
 * Calls `work` with new pairs of programs, one pair after the other: JIT compilation differs between processes and stays for their
 * lifetime, so two processes of one build differ by up to 8 %. `first` starts first and should be measured first; it alternates.
 */
export async function inNewPairs<Started extends Pick<Program, 'stop'>, Result>(
  count: number,
  start: Pair<() => Promise<Started>>,
  work: (programs: Pair<Started>, first: Side) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let pair = 0; pair < count; pair++) {
    const first = pair % 2 === 0 ? 'base' : 'change'
    const started: Started[] = []
    try {
      const programs = await ofBoth(first, async (side) => {
        const program = await start[side]()
        started.unshift(program)
        return program
      })
      results.push(await work(programs, first))
    } finally {
      for (const program of started) await program.stop()
    }
  }
  return results
}

/** Measures both programs in each round, in the order ABBA: a machine that becomes faster or slower favours neither. */
export async function inTurns<Started, Measured>(
  programs: Pair<Started>,
  { rounds, first }: { readonly rounds: number; readonly first: Side },
  measure: (program: Started) => Promise<Measured>,
): Promise<Array<Pair<Measured>>> {
  const measured: Array<Pair<Measured>> = []
  for (let round = 0; round < rounds; round++) {
    measured.push(await ofBoth(round % 2 === 0 ? first : other(first), (side) => measure(programs[side])))
  }
  return measured
}

async function ofBoth<T>(first: Side, get: (side: Side) => Promise<T>): Promise<Pair<T>> {
  const early = await get(first)
  const late = await get(other(first))
  return first === 'base' ? { base: early, change: late } : { base: late, change: early }
}

function other(side: Side): Side {
  return side === 'base' ? 'change' : 'base'
}
