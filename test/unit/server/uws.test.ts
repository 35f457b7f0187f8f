import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { loadUws, UWS_BUILDS } from '../../../src/front/server/uws.ts'
import type { Machine, UwsBuild } from '../../../src/front/server/uws.ts'

const DEBIAN_13: Machine = { node: '24.1.0', platform: 'linux', arch: 'x64', glibc: () => '2.41' }
const [NEWEST, OLDER] = UWS_BUILDS.map(({ name }) => name)

/** Loads the packages that are named, as npm's loader does: every other one throws. */
const only =
  (...names: readonly (string | undefined)[]) =>
  ({ name }: UwsBuild): unknown => {
    if (names.includes(name)) return { name }
    throw new Error(`Cannot find module '${name}'`)
  }
const refusal = (machine: Partial<Machine>, forced?: string): string => {
  try {
    loadUws(forced, only(), { ...DEBIAN_13, ...machine })
  } catch (cause) {
    return (cause as Error).message
  }
  throw new Error('it loaded')
}

it('takes the newest build that loads', () => {
  expect(loadUws(undefined, only(NEWEST, OLDER), DEBIAN_13)).toEqual({ version: '20.69.0', uws: { name: NEWEST } })
  expect(loadUws(undefined, only(OLDER), DEBIAN_13)).toEqual({ version: '20.51.4', uws: { name: OLDER } })
})

it('takes the build that is forced, and no other', () => {
  expect(loadUws('20.51.4', only(NEWEST, OLDER), DEBIAN_13).version).toBe('20.51.4')
  expect(() => loadUws('20.69.0', only(OLDER), DEBIAN_13)).toThrow('uWebSockets.js (20.69.0)')
  expect(() => loadUws('20.1.0', only(NEWEST, OLDER), DEBIAN_13)).toThrow(
    'SLUICE_UWS_BUILD: 20.1.0 is none of 20.69.0, 20.51.4',
  )
})

it('loads a build on the Node of this machine, and none that has no binary for it', () => {
  expect(UWS_BUILDS.map(({ version }) => version)).toContain(loadUws(undefined).version)
  const major = Number.parseInt(process.versions.node)
  const others = UWS_BUILDS.filter(({ nodes }) => !nodes.includes(major))
  for (const { version } of others) expect(() => loadUws(version)).toThrow('has no binary for')
})

describe('Without a binary', () => {
  it.each<[what: string, machine: Partial<Machine>, here: string]>([
    ['an old Node', { node: '18.20.0' }, 'Node 18.20.0 on linux x64 with glibc 2.41'],
    ['a Node between two', { node: '25.0.0' }, 'Node 25.0.0 on linux x64 with glibc 2.41'],
    ['a new Node on an old libc', { node: '24.1.0', glibc: () => '2.36' }, 'Node 24.1.0 on linux x64 with glibc 2.36'],
    ['another libc', { node: '22.1.0', glibc: () => null }, 'Node 22.1.0 on linux x64 with a libc other than glibc'],
    ['another processor', { arch: 'riscv64' }, 'Node 24.1.0 on linux riscv64 with glibc 2.41'],
    ['another system', { platform: 'darwin', glibc: () => null }, 'Node 24.1.0 on darwin x64'],
  ])('says in one line what to use: %s', (_, machine, here) => {
    const line = refusal(machine)
    expect(line).not.toContain('\n')
    expect(line).toContain(here)
    expect(line).toContain(
      'use Linux on x64 or arm64 and Node 22, 24, 26 with glibc 2.38 or newer, or Node 20, 22 with glibc 2.28 or newer',
    )
  })

  it('says that it is not installed where there is one', () => {
    expect(refusal({})).toContain('npm has not installed the binary')
    expect(refusal({ node: '22.1.0', glibc: () => '2.36' })).toContain('npm has not installed the binary')
    expect(refusal({ node: '22.1.0', glibc: () => '2.36' }, '20.69.0')).toContain('has no binary for')
  })
})

describe('The builds', () => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    readonly packages: Readonly<
      Record<string, { name?: string; version?: string; engines?: { node?: string }; integrity?: string }>
    >
  }

  it('are the packages that npm installs under these names', () => {
    for (const { name, version } of UWS_BUILDS) {
      expect(lock.packages[`node_modules/${name}`]).toMatchObject({ name: '@uwsjs/core', version })
    }
  })

  // Without `engines` npm would install the binaries of every Node, with another version those of none.
  it('have a pinned binary for each Node that they name', () => {
    for (const { name, version, nodes } of UWS_BUILDS) {
      for (const node of nodes) {
        const binary = `@uwsjs/linux-x64-${node}`
        const places = [`node_modules/${name}/node_modules/${binary}`, `node_modules/${binary}`]
        const entry = places.map((place) => lock.packages[place]).find((found) => found?.version === version)
        expect(entry, `${binary}@${version}`).toMatchObject({
          engines: { node: `>=${node}.0.0 <${node + 1}.0.0` },
          integrity: expect.stringMatching(/^sha512-/) as unknown,
        })
      }
    }
  })

  it.runIf(process.platform === 'linux' && process.arch === 'x64')('are the bytes that were looked at', () => {
    const major = Number.parseInt(process.versions.node)
    const found = UWS_BUILDS.flatMap(({ name, version, nodes }) => {
      if (!nodes.includes(major)) return []
      const nested = `node_modules/${name}/node_modules/@uwsjs/linux-x64-${major}/uws.node`
      const bytes = readIfThere(nested) ?? readFileSync(`node_modules/@uwsjs/linux-x64-${major}/uws.node`)
      return [`${version} ${major} ${createHash('sha256').update(bytes).digest('hex')}`]
    })
    expect(found.length).toBeGreaterThan(0)
    for (const line of found) expect(BINARIES).toContain(line)
  })
})

function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path)
  } catch {
    return null
  }
}

/** Version, major of Node, SHA-256 of `uws.node` on linux x64. */
const BINARIES = [
  '20.51.4 20 4d482084b665c225892917ee0e9b9572d89eaa6f3dc200ff5e536293d3456c89',
  '20.51.4 22 f687e7c3666b5cca9d355184bbf07bb0550f5ba0d3ffd453248ccfec552dde6c',
  '20.69.0 22 34d235864db874fbf3aeafd48b63f6fb80f61fb584a86f1e5f7b0291dbd7a3d4',
  '20.69.0 24 177efdc682425d754474bd30f9586c487fa6694f790f3406a23885d0e61c07a0',
  '20.69.0 26 604375741bf77780b34e7e299af9274cb1f56d73732201d19e3d8d8448176795',
]
