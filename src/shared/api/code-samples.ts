import type { TSchema } from 'typebox'

export interface CodeSample {
  readonly lang: string
  readonly label: string
  readonly source: string
}

/** The call that a sample shows. */
export interface SampledCall {
  readonly method: string
  readonly path: string
  /** The credential of the caller; null: none. */
  readonly credential: 'key' | 'session' | null
  /** Undefined: none. */
  readonly body: unknown
}

const VARIABLES = { key: 'SLUICE_KEY', session: 'SLUICE_TOKEN' } as const

/** One call in three languages. The address of the gateway and the credential are taken from the environment. */
export function codeSamples(call: SampledCall): readonly CodeSample[] {
  const { body } = call
  return [
    { lang: 'shell', label: 'curl', source: curl(call, body) },
    { lang: 'javascript', label: 'JavaScript', source: javascript(call, body) },
    { lang: 'python', label: 'Python', source: python(call, body) },
  ]
}

/** A body that fits the schema: `given`, or one made from the schema. Undefined where there is no schema. */
export function exampleBody(schema: TSchema | undefined, given?: object): unknown {
  return schema === undefined ? undefined : (given ?? exampleOf(schema))
}

function headersOf({ credential, path }: SampledCall, body: unknown, variable: (name: string) => string): string[][] {
  return [
    ...(credential === null ? [] : [['Authorization', `Bearer ${variable(VARIABLES[credential])}`]]),
    ...(path.includes('/v1/messages') ? [['anthropic-version', '2023-06-01']] : []),
    ...(body === undefined ? [] : [['Content-Type', 'application/json']]),
  ]
}

function curl(call: SampledCall, body: unknown): string {
  const { method, path } = call
  const headers = headersOf(call, body, (name) => `$${name}`).map(([name, value]) => `-H "${name}: ${value}"`)
  const data = body === undefined ? [] : [`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]
  const verb = method === 'GET' ? '' : `-X ${method} `
  return [`curl ${verb}"$SLUICE_URL${path}"`, ...headers, ...data].join(' \\\n  ')
}

function javascript(call: SampledCall, body: unknown): string {
  const headers = headersOf(call, body, (name) => `\${process.env.${name}}`).map(
    ([name, value = '']) => `    '${name}': ${value.includes('$') ? `\`${value}\`` : `'${value}'`},`,
  )
  const options = [
    `  method: '${call.method}',`,
    ...(headers.length === 0 ? [] : ['  headers: {', ...headers, '  },']),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(body)}),`]),
  ]
  return `const response = await fetch(\`\${process.env.SLUICE_URL}${call.path}\`, {\n${options.join('\n')}\n})\nconsole.log(await response.text())\n`
}

function python(call: SampledCall, body: unknown): string {
  const headers = headersOf(call, body, (name) => `{os.environ['${name}']}`).map(
    ([name, value = '']) => `        "${name}": ${value.includes('{') ? 'f' : ''}"${value}",`,
  )
  const lines = [
    `    "${call.method}",`,
    `    os.environ["SLUICE_URL"] + "${call.path}",`,
    ...(headers.length === 0 ? [] : ['    headers={', ...headers, '    },']),
    // JSON within a Python string: its true, false and null are not Python.
    ...(body === undefined ? [] : [`    data=${JSON.stringify(JSON.stringify(body))},`]),
  ]
  return `import os\nimport requests\n\nresponse = requests.request(\n${lines.join('\n')}\n)\nprint(response.text)\n`
}

function indented(body: unknown): string {
  return JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')
}

interface Described {
  readonly examples?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Described[]
  readonly oneOf?: readonly Described[]
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Described>>
  readonly required?: readonly string[]
  readonly minProperties?: number
  readonly items?: Described
  readonly minimum?: number
  readonly minLength?: number
}

function exampleOf(schema: Described): unknown {
  if (schema.examples !== undefined) return schema.examples[0]
  if ('const' in schema) return schema.const
  if (schema.default !== undefined) return schema.default
  if (schema.enum !== undefined) return schema.enum[0]
  const choice = (schema.anyOf ?? schema.oneOf)?.find(({ type }) => type !== 'null')
  if (choice !== undefined) return exampleOf(choice)
  const type = typeof schema.type === 'object' ? schema.type[0] : schema.type
  switch (type) {
    case 'object': {
      const properties = Object.entries(schema.properties ?? {})
      const required = properties.filter(([name]) => schema.required?.includes(name))
      const shown = required.length > 0 ? required : properties.slice(0, 1)
      return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property)]))
    }
    case 'array':
      return schema.items === undefined ? [] : [exampleOf(schema.items)]
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1)
    case 'boolean':
      return true
    default:
      return 'example'.padEnd(schema.minLength ?? 0, ' text')
  }
}
