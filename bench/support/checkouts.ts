import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { commitOf } from '../../src/cli/bench/machine.ts'

/** A source tree that has been built. */
export interface Checkout {
  /** The name that the user gave. */
  readonly name: string
  readonly folder: string
  readonly commit: string
}

/** Builds folders in place, and revisions of a repository in worktrees, which exist until `remove`. */
export class Checkouts {
  readonly #repository: string
  readonly #worktrees: string[] = []
  /** Folders with packages that new worktrees may share. */
  readonly #installed: string[]
  #root: string | null = null

  /** @param repository a checkout that has its packages */
  constructor(repository: string) {
    this.#repository = resolve(repository)
    this.#installed = [this.#repository]
  }

  /** @param name a folder with a package.json, or a revision */
  build(name: string): Checkout {
    const isFolder = existsSync(join(name, 'package.json'))
    const folder = isFolder ? resolve(name) : this.#addWorktree(name)
    if (!existsSync(join(folder, 'node_modules'))) {
      if (isFolder) throw new Error(`${folder} has no node_modules: run npm ci there`)
      this.#install(folder)
    }
    run('npm', ['run', '--silent', 'build'], folder)
    return { name, folder, commit: commitOf(folder) }
  }

  /** Deletes the worktrees. Synchronous, so that it can run when the process ends. */
  remove(): void {
    for (const folder of this.#worktrees.splice(0)) {
      spawnSync('git', ['worktree', 'remove', '--force', folder], { cwd: this.#repository, stdio: 'inherit' })
    }
    if (this.#root !== null) rmSync(this.#root, { recursive: true, force: true })
    this.#root = null
  }

  #addWorktree(revision: string): string {
    const options = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]
    const { status, stdout } = spawnSync('git', options, { cwd: this.#repository, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${revision} is neither a folder with a package.json nor a revision`)
    this.#root ??= mkdtempSync(join(tmpdir(), 'sluice-compare-'))
    const folder = join(this.#root, String(this.#worktrees.length))
    this.#worktrees.push(folder)
    run('git', ['worktree', 'add', '--quiet', '--detach', folder, stdout.trim()], this.#repository)
    return folder
  }

  /** Links the packages of a checkout with the same lockfile, or installs them. */
  #install(folder: string): void {
    const lockfile = lockfileOf(folder)
    const twin = this.#installed.find((other) => lockfileOf(other) === lockfile)
    if (twin === undefined) {
      run('npm', ['ci', '--no-audit', '--no-fund'], folder)
      this.#installed.push(folder)
    } else {
      symlinkSync(join(twin, 'node_modules'), join(folder, 'node_modules'))
    }
  }
}

function lockfileOf(folder: string): string {
  return readFileSync(join(folder, 'package-lock.json'), 'utf8')
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, error } = spawnSync(program, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed in ${cwd}`, { cause: error })
}
