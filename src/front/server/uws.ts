import { createRequire } from 'node:module'
import type * as UwsModule from 'uws-20.51'

// The types of the older build: the newer build has everything that they declare.
export type Uws = Pick<typeof UwsModule, 'App' | 'SSLApp' | 'us_listen_socket_close'> & {
  /** The declarations lack it. `silent` keeps the server's name out of every answer. */
  _cfg(option: 'silent'): void
}
export type { HttpRequest, HttpResponse, us_listen_socket } from 'uws-20.51'

/** One build of uWebSockets.js, as npm installs it. */
export interface UwsBuild {
  readonly version: string
  /** The package's name in `package.json`. */
  readonly name: string
  /** The major versions of Node for which it has a binary. */
  readonly nodes: readonly number[]
  /** The oldest glibc that its binaries and their Node load on. */
  readonly glibc: string
}

export interface LoadedUws {
  readonly version: string
  readonly uws: Uws
}

/** The properties of a machine that decide which build loads. */
export interface Machine {
  readonly node: string
  readonly platform: string
  readonly arch: string
  /** Null on another libc. */
  readonly glibc: () => string | null
}

/** Newest first. */
export const UWS_BUILDS: readonly UwsBuild[] = [
  { version: '20.69.0', name: 'uws-20.69', nodes: [22, 24, 26], glibc: '2.38' },
  { version: '20.51.4', name: 'uws-20.51', nodes: [20, 22], glibc: '2.28' },
]

const PROCESSORS = ['x64', 'arm64']

/**
 * Loads the newest build that this Node and libc can load, or, when `forced` names a version, that build and no other.
 * Throws an Error with one line that names the remedy.
 */
export function loadUws(
  forced: string | undefined,
  load: (build: UwsBuild) => unknown = loadInstalled,
  machine: Machine = thisMachine(),
): LoadedUws {
  const builds = forced === undefined ? UWS_BUILDS : UWS_BUILDS.filter(({ version }) => version === forced)
  if (builds.length === 0) {
    throw new Error(
      `SLUICE_UWS_BUILD: ${forced ?? ''} is none of ${UWS_BUILDS.map((build) => build.version).join(', ')}`,
    )
  }
  const failures: unknown[] = []
  for (const build of builds) {
    try {
      return { version: build.version, uws: load(build) as Uws }
    } catch (cause) {
      failures.push(cause)
    }
  }
  throw new Error(describeNoBuild(builds, machine), { cause: new AggregateError(failures) })
}

/** Checks the version, because the builds share the names of their binaries: one would load the other's when it has none. */
function loadInstalled({ name, version }: UwsBuild): unknown {
  const require = createRequire(import.meta.url)
  const { node } = process.versions
  const binary = `@uwsjs/${process.platform}-${process.arch}-${Number.parseInt(node)}`
  const found = createRequire(require.resolve(name))(`${binary}/package.json`) as { version: string }
  if (found.version !== version) throw new Error(`${binary} is ${found.version}, not ${version}`)
  return require(name)
}

function describeNoBuild(builds: readonly UwsBuild[], machine: Machine): string {
  const { node, platform, arch } = machine
  const glibc = machine.glibc()
  const here = `Node ${node} on ${platform} ${arch} with ${glibc === null ? 'a libc other than glibc' : `glibc ${glibc}`}`
  const major = Number.parseInt(node)
  const fits = (build: UwsBuild): boolean =>
    platform === 'linux' &&
    PROCESSORS.includes(arch) &&
    build.nodes.includes(major) &&
    glibc !== null &&
    isAtLeast(glibc, build.glibc)
  const names = builds.map(({ version }) => version).join(', ')
  if (builds.some(fits)) {
    return `npm has not installed the binary of uWebSockets.js (${names}) for ${here}: run npm install again with this Node, optional packages included`
  }
  const uses = builds.map((build) => `Node ${build.nodes.join(', ')} with glibc ${build.glibc} or newer`)
  return `uWebSockets.js (${names}) has no binary for ${here}: use Linux on ${PROCESSORS.join(' or ')} and ${uses.join(', or ')}`
}

function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number)
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

function thisMachine(): Machine {
  return { node: process.versions.node, platform: process.platform, arch: process.arch, glibc: glibcVersion }
}

/** Called only when no build loads: a process report is slow. */
function glibcVersion(): string | null {
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  return header?.glibcVersionRuntime ?? null
}
