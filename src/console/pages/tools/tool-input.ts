import { countOf } from '../../format/numbers.ts'

type Kind = 'text' | 'number' | 'integer' | 'choice' | 'switch' | 'json'

/** An argument of a tool, as a form asks for it. */
export interface ToolField {
  readonly name: string
  readonly kind: Kind
  readonly about: string | null
  readonly isRequired: boolean
  readonly choices: readonly string[]
}

/** The fields of a JSON schema of an object. What has no field of its own is typed as JSON. */
export function fieldsOf(schema: object): ToolField[] {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, unknown>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, value]) => {
    const property = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
    const { description, enum: choices } = property
    const listed: unknown[] = Array.isArray(choices) ? choices : []
    const texts = listed.filter((one) => typeof one === 'string')
    return {
      name,
      kind: kindOf(property, texts.length > 0 && texts.length === listed.length),
      about: typeof description === 'string' ? description : null,
      isRequired: required.includes(name),
      choices: texts,
    }
  })
}

function kindOf({ type }: Readonly<Record<string, unknown>>, isChoice: boolean): Kind {
  if (isChoice) return 'choice'
  if (type === 'string') return 'text'
  if (type === 'number' || type === 'integer') return type
  return type === 'boolean' ? 'switch' : 'json'
}

/** The typed values, by the name of the field. A switch is `true` or empty. */
export type ToolDraft = Readonly<Record<string, string>>

/** Whether the text is a value of the field, or empty where it may be. */
export function isValid({ kind, isRequired }: ToolField, text: string): boolean {
  if (text.trim() === '') return !isRequired || kind === 'switch' || kind === 'text'
  if (kind === 'integer') return integerOf(text) !== null
  if (kind === 'number') return Number.isFinite(Number(text))
  return kind !== 'json' || parsed(text) !== undefined
}

/** The arguments of the call; empty fields are left out where they may be. Call it when all fields are valid. */
export function inputOf(fields: readonly ToolField[], draft: ToolDraft): Record<string, unknown> {
  const entries = fields.flatMap((field): Array<[string, unknown]> => {
    const text = draft[field.name] ?? ''
    if (field.kind === 'switch') return text === '' && !field.isRequired ? [] : [[field.name, text === 'true']]
    if (text.trim() === '') return field.isRequired ? [[field.name, text]] : []
    if (field.kind === 'integer') return [[field.name, integerOf(text)]]
    if (field.kind === 'number') return [[field.name, Number(text)]]
    return [[field.name, field.kind === 'json' ? parsed(text) : text]]
  })
  return Object.fromEntries(entries)
}

function integerOf(text: string): number | null {
  const typed = text.trim()
  const size = countOf(typed.replace(/^-/, ''))
  return size !== null && typed.startsWith('-') ? -size : size
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
