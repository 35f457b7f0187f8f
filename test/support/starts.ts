import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateApiKey } from '../../src/shared/core/api-key.ts'
import type { Program } from './program.ts'
import { copyMadeDatabase, runProgram, stopPrograms } from './program.ts'

/** Programs in separate directories, with one entry key and the built-in simulator. */
export class Starts {
  readonly key = generateApiKey()
  readonly #root = mkdtempSync(join(tmpdir(), 'sluice-startup-'))
  #directories = 0

  /** A new working directory. If the vitest project uses the embedded database, its data directory has one. */
  directory(): string {
    const directory = join(this.#root, String(this.#directories++))
    copyMadeDatabase(join(directory, 'data'))
    return directory
  }

  start(directory: string, env: Record<string, string> = {}): Program {
    const server = '{fronts: 1, drain_announce_ms: 0}'
    writeFileSync(join(directory, 'sluice.yaml'), `keys: [{name: test, key: ${this.key}}]\nserver: ${server}\n`)
    return runProgram(directory, { HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'silent', ...env })
  }

  /** Ends all running programs and removes all directories. */
  async remove(): Promise<void> {
    await stopPrograms()
    rmSync(this.#root, { recursive: true, force: true })
  }
}

/** The lock files of a data directory. */
export function locksIn(directory: string): string[] {
  return readdirSync(join(directory, 'data')).filter((name) => name.startsWith('lock-'))
}

/** Starts a server on a free port. */
export function listen(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      resolve(server)
    })
  })
}
