import { GatewayError } from './errors.ts'

const MAX_SHOWN = 200
/** A longer path gets no hint: the time of the search grows with the square of the segments. */
const MAX_SEGMENTS = 16

/** ROUTE_NOT_FOUND for a path, with a hint where it looks like a mistake. */
export type UnknownPath = (path: string) => GatewayError

/** @param patterns paths that exist, with `:name` segments and a final `*` */
export function createUnknownPath(patterns: readonly string[]): UnknownPath {
  const known = patterns.map(segmentsOf).filter(({ length }) => length > 0)
  return (path) => {
    const shown = path.length > MAX_SHOWN ? `${path.slice(0, MAX_SHOWN)}…` : path
    return new GatewayError('ROUTE_NOT_FOUND', { message: `There is nothing at ${shown}. ${hintFor(path, known)}` })
  }
}

export function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '')
}

function hintFor(path: string, known: readonly (readonly string[])[]): string {
  const segments = segmentsOf(path)
  const meant = meantBy(segments, known)
  if (meant === null) return 'GET /openapi.json lists what there is.'
  const isVersionDoubled = segments.some((segment, at) => segment === 'v1' && segments[at + 1] === 'v1')
  const isVersionMissing = meant.includes('v1') && !segments.includes('v1')
  const target = `/${meant.join('/')}`
  if (isVersionDoubled) return `It holds /v1 twice: send the request to ${target}.`
  if (isVersionMissing) return `/v1 is missing: send the request to ${target}.`
  if (path.includes('//')) return `It holds a doubled slash: send the request to ${target}.`
  if (path.endsWith('/')) return `It ends in a slash: send the request to ${target}.`
  return `Send the request to ${target}.`
}

/** The longest suffix of the path that exists, with or without `v1` before it; null when there is none. */
function meantBy(segments: readonly string[], known: readonly (readonly string[])[]): readonly string[] | null {
  if (segments.length > MAX_SEGMENTS) return null
  for (let from = 0; from < segments.length; from++) {
    const rest = segments.slice(from)
    for (const candidate of [rest, ['v1', ...rest]]) {
      if (known.some((pattern) => fits(candidate, pattern))) return candidate
    }
  }
  return null
}

function fits(path: readonly string[], pattern: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*'
  if (isOpen ? path.length < pattern.length : path.length !== pattern.length) return false
  return pattern.every((segment, at) => segment === '*' || segment.startsWith(':') || segment === path[at])
}
