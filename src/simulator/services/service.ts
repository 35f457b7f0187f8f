import type { ServiceName } from '../../shared/core/service.ts'
import type { JsonObject } from '../json.ts'
import type { PlainAnswer } from '../plain-request.ts'
import { BadRequest } from '../prompt.ts'
import type { Wire } from '../wire.ts'

/** A service in the protocol of another vendor: translates its requests to OpenAI's, and OpenAI's answers back. */
export interface ForeignService {
  readonly kind: ServiceName
  readonly method: 'POST'
  readonly path: RegExp
  /** The dialect of its errors and headers. */
  readonly wire: Wire
  /** Translates to a request of OpenAI's clients. Throws BadRequest for a request that the vendor would refuse. */
  read(body: JsonObject, place: ForeignPlace): JsonObject
  /** Translates OpenAI's answer to the vendor's format. */
  write(answer: JsonObject, place: ForeignPlace): JsonObject
}

/** A GET of a job, or of its video, in a vendor's protocol. */
export interface ForeignLook {
  readonly method: 'GET'
  readonly path: RegExp
  readonly wire: Wire
  /** @param parts the matches of the groups of `path` */
  look(parts: readonly string[], jobs: LookedAt, place: ForeignPlace): PlainAnswer
}

/** The jobs that the credential of the request may see. */
export interface LookedAt {
  /** The job in OpenAI's format. Throws BadRequest. */
  tell(id: string): JsonObject
  content(id: string): PlainAnswer
  /** The video, for any credential. */
  open(id: string): PlainAnswer
}

export interface ForeignPlace {
  /** The model in the path, decoded; empty when the path has none. */
  readonly model: string
  readonly origin: string
  /** Path of the request. */
  readonly path: string
  readonly body: JsonObject
}

/** Throws BadRequest for a field that is not in `known`, as strict services do. */
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

/** Throws BadRequest unless the value is absent or in `allowed`. */
export function oneOf(value: unknown, name: string, allowed: ReadonlyArray<string | number>): void {
  if (value === undefined || allowed.some((one) => one === value)) return
  throw new BadRequest(`Invalid value for ${name}: ${JSON.stringify(value)}`, name)
}

/** The members that are not undefined. */
export function lean(members: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
