import type { ErrorObject } from 'ajv'
import { GatewayError } from './errors.ts'

/** The pattern of a text that holds more than white space, as in `Name` of `shared/api`. */
const NOT_BLANK = '\\S'

/** The error for a bad field, with a hint how to correct it. Names fields and limits, never a value of the client. */
export function fieldError(error: ErrorObject | undefined): GatewayError {
  if (error === undefined) return new GatewayError('INVALID_FIELD')
  const param = pointerOf(error)
  return new GatewayError('INVALID_FIELD', { param, message: `${fieldName(param)} ${remedy(error)}.` })
}

/** `/messages/0/role` as people write it: `messages[0].role`. The empty pointer is the body itself. */
export function fieldName(pointer: string): string {
  if (pointer === '') return 'The body'
  let name = ''
  for (const step of pointer.slice(1).split('/')) {
    if (/^\d+$/.test(step)) name += `[${step}]`
    else name += `${name === '' ? '' : '.'}${step.replaceAll('~1', '/').replaceAll('~0', '~')}`
  }
  return name
}

/** JSON pointer of the bad field; of a missing one, its place. */
function pointerOf(error: ErrorObject): string {
  if (error.keyword === 'required') return `${error.instancePath}/${String(error.params['missingProperty'])}`
  if (error.keyword === 'additionalProperties') return `${error.instancePath}/${unknownName(error)}`
  if (error.keyword === 'discriminator') return `${error.instancePath}/${String(error.params['tag'])}`
  return error.instancePath
}

/** As a step of a JSON pointer. */
function unknownName({ params }: ErrorObject): string {
  return String(params['additionalProperty']).replaceAll('~', '~0').replaceAll('/', '~1')
}

function remedy(error: ErrorObject): string {
  const schema: Record<string, unknown> = isRecord(error.parentSchema) ? error.parentSchema : {}
  switch (error.keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties':
      return `is not a known field; there are ${Object.keys(isRecord(schema['properties']) ? schema['properties'] : {}).join(', ')}`
    case 'type':
      return `must be ${typeNames(error.params['type'])}`
    case 'minimum':
    case 'maximum':
      return range(schema, error.keyword)
    case 'minLength':
      return atLeast(error.params['limit'], 'characters')
    case 'minItems':
      return atLeast(error.params['limit'], 'entries')
    case 'maxLength':
      return `must have at most ${String(error.params['limit'])} characters`
    case 'maxItems':
      return `must have at most ${String(error.params['limit'])} entries`
    case 'format':
      return 'must be a time like 2027-01-31T00:00:00Z'
    case 'enum':
      return oneOf(error.params['allowedValues'])
    case 'pattern':
      return schema['pattern'] === NOT_BLANK ? 'must not be blank' : `must look like ${exampleOf(schema)}`
    case 'discriminator':
      return error.params['tagValue'] === undefined ? 'is required' : oneOf(tagValues(schema, error.params['tag']))
    default:
      return 'is not valid'
  }
}

function atLeast(limit: unknown, units: string): string {
  return limit === 1 ? 'must not be empty' : `must have at least ${String(limit)} ${units}`
}

function exampleOf(schema: Record<string, unknown>): string {
  const examples: unknown[] = Array.isArray(schema['examples']) ? schema['examples'] : []
  const texts = examples.filter((example) => typeof example === 'string')
  return texts.length === 0 ? 'what the documentation says' : texts.join(' or ')
}

/** Leaves out an upper limit that only keeps arithmetic exact, unless it is the broken one. */
function range(schema: Record<string, unknown>, broken: string): string {
  const minimum = String(schema['minimum'])
  const maximum = String(schema['maximum'])
  if (Number(maximum) < 1000) return `must be between ${minimum} and ${maximum}`
  return broken === 'minimum' ? `must be at least ${minimum}` : `must be at most ${maximum}`
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

/** Leaves out null: many fields accept it, but nobody should send it. */
function typeNames(types: unknown): string {
  const names = (Array.isArray(types) ? types : [types]).map(String).filter((name) => name !== 'null')
  return names.map((name) => TYPE_NAMES[name] ?? name).join(' or ')
}

function oneOf(values: unknown): string {
  return `must be one of ${(Array.isArray(values) ? values : []).map(String).join(', ')}`
}

/** The values that tell the branches of a schema apart. */
function tagValues(schema: Record<string, unknown>, tag: unknown): unknown[] {
  const branches: unknown[] = Array.isArray(schema['oneOf']) ? schema['oneOf'] : []
  return branches.map((branch) => {
    const properties = isRecord(branch) ? branch['properties'] : undefined
    const property = isRecord(properties) ? properties[String(tag)] : undefined
    return isRecord(property) ? property['const'] : undefined
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
