import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { QUICK_START } from './quick-start.ts'

const SLUICE = fileURLToPath(new URL('../../dist/cli/sluice.js', import.meta.url))
const DEADLINE_MS = 150_000

export interface Said {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface SluiceOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd: string
  /** Text for standard input; empty by default. */
  readonly input?: string
  /** Path of the program; default: that of `dist`. */
  readonly program?: string
}

/** Runs a command like an operator. Its environment has only the given variables. It is ended after two and a half minutes. */
export async function sluice(
  args: readonly string[],
  { env = {}, cwd, input = '', program = SLUICE }: SluiceOptions,
): Promise<Said> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [...QUICK_START, program, ...args], { cwd, env: { PATH, HOME, ...env } })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  // A command that reads no input may have ended already.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const late = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(late)
  return { code, stdout, stderr }
}
