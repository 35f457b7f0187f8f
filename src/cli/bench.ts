import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { EXIT } from '../shared/core/exit-codes.ts'
import { command } from './command.ts'
import type { CommandContext } from './command.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export function addBench(program: Command, { output, ended }: CommandContext): void {
  command(program, 'bench [arguments...]', 'run the benchmarks of a checkout; arguments after -- go to them').action(
    async (args: readonly string[]) => {
      if (!existsSync(new URL('../../bench/run.ts', import.meta.url))) {
        throw new Error(
          `there are no benchmarks in ${ROOT}: run this command in a checkout of the sources, the npm package has none`,
        )
      }
      // With --json, standard output carries only the result.
      const child = spawn('npm', ['run', '--silent', 'bench', '--', ...args], {
        cwd: ROOT,
        stdio: ['inherit', output.isJson ? 2 : 'inherit', 'inherit'],
      })
      const [code] = (await once(child, 'close')) as [number | null]
      output.value({ passed: code === 0, exit_code: code })
      ended(code === 0 ? EXIT.ok : EXIT.failure)
    },
  )
}
