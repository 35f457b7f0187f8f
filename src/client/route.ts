/** How an operation of the management plane is called. */
export interface Route {
  readonly group: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** `{name}` stands for one segment. */
  readonly path: string
  readonly answer: 'json' | 'nothing' | 'bytes'
  /** Creates something, so it is sent with an Idempotency-Key. */
  readonly creates?: true
}

/** Fills in the parameters of `path` and appends the query. Throws TypeError when a parameter is missing. */
export function addressOf(path: string, params: Readonly<Record<string, string>>, query: object): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(params, name) ? params[name] : undefined
    if (value === undefined || value === '') throw new TypeError(`params.${name} is missing for ${path}`)
    // URL parsers treat `.` and `..` as relative segments, even when they are encoded.
    if (/^\.{1,2}$/.test(value)) throw new TypeError(`params.${name} must not be ${value}`)
    return encodeURIComponent(value)
  })
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query) as Array<[string, unknown]>) {
    if (value === undefined || value === null) continue
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) search.append(name, textOf(name, one))
  }
  return search.size === 0 ? filled : `${filled}?${search.toString()}`
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new TypeError(`query.${name} must be a string, a number, a boolean, or a list of them`)
}
