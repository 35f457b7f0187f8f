import type { ServiceName } from '../../shared/core/service.ts'
import type { JsonObject } from '../json.ts'
import type { PlainAnswer } from '../plain-request.ts'
import { BadRequest } from '../prompt.ts'
import type { Wire } from '../wire.ts'

/** What the simulator does for a request of another vendor, told in its own words. */
export interface ForeignService {
  readonly kind: ServiceName
  readonly method: 'POST'
  readonly path: RegExp
  /** Whose errors and headers it has. */
  readonly wire: Wire
  /** The request as OpenAI's clients would write it. Throws BadRequest for what the vendor would refuse. */
  read(body: JsonObject, place: ForeignPlace): JsonObject
  /** OpenAI's answer in the vendor's words. */
  write(answer: JsonObject, place: ForeignPlace): JsonObject
}

/** A look at a job, or at what it made, in a vendor's words. */
export interface ForeignLook {
  readonly method: 'GET'
  readonly path: RegExp
  readonly wire: Wire
  /** `parts` are what the path's groups hold. */
  look(parts: readonly string[], jobs: LookedAt, place: ForeignPlace): PlainAnswer
}

/** The jobs, as the credential that asks may see them. */
export interface LookedAt {
  /** As OpenAI tells of it. Throws BadRequest. */
  tell(id: string): JsonObject
  content(id: string): PlainAnswer
  /** To whoever has the address. */
  open(id: string): PlainAnswer
}

export interface ForeignPlace {
  /** Of the path, decoded; empty where it names none. */
  readonly model: string
  readonly origin: string
  /** Path of the request. */
  readonly path: string
  readonly body: JsonObject
}

/** Throws BadRequest for a field that is not `known`, as strict services do. */
export function only(body: JsonObject, known: readonly string[]): void {
  for (const name of Object.keys(body)) {
    if (!known.includes(name)) throw new BadRequest(`Unknown field: ${name}`, name, 'unknown_parameter')
  }
}

export function texts(value: unknown, name: string, most: number): string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new BadRequest(`${name} must be a list that is not empty`, name)
  if (value.length > most) throw new BadRequest(`too many ${name}: at most ${most} at a time`, name)
  for (const one of value as readonly unknown[]) {
    if (typeof one !== 'string' || one === '') throw new BadRequest(`${name} must hold texts`, name)
  }
  return value as string[]
}

/** Throws BadRequest unless the value is absent or one of these. */
export function oneOf(value: unknown, name: string, allowed: ReadonlyArray<string | number>): void {
  if (value === undefined || allowed.some((one) => one === value)) return
  throw new BadRequest(`Invalid value for ${name}: ${JSON.stringify(value)}`, name)
}

/** Without members that are undefined. */
export function lean(members: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
