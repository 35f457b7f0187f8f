import type { Path } from './config-error.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** One value of the configuration that an environment variable sets. */
export interface Override {
  readonly variable: string
  readonly path: Path
  readonly text: string
  /** Whether `${…}` in the text is replaced. Values of the well-known variables are taken as they are. */
  readonly interpolates: boolean
}

/** The variables of the environment that the gateway reads. */
export interface Environment {
  /** By precedence: a later one overrides an earlier one. Empty variables do not count. */
  readonly overrides: readonly Override[]
  readonly configFile: string | null
  readonly secrets: { readonly keyHash: string | null; readonly jwt: string | null }
  /** For `${VAR}` in the file and for the credentials of well-known providers. */
  readonly variables: Env
}

const WELL_KNOWN: ReadonlyArray<readonly [variable: string, path: Path]> = [
  ['PORT', ['server', 'port']],
  ['HOST', ['server', 'host']],
  ['SLUICE_FRONTS', ['server', 'fronts']],
  ['SLUICE_DATA_DIR', ['data_dir']],
  ['DATABASE_URL', ['database', 'url']],
  ['REDIS_URL', ['redis', 'url']],
  ['LOG_LEVEL', ['log', 'level']],
  ['SLUICE_ADMIN_PHONE', ['auth', 'first_admin_phone']],
]

const GENERAL_PREFIX = 'SLUICE__'

/** Reads the environment once. `SLUICE__SERVER__PORT` names `server.port`, `SLUICE__UPSTREAMS__0__ID` `upstreams[0].id`. */
export function readEnvironment(env: Env): Environment {
  const overrides: Override[] = []
  for (const [variable, path] of WELL_KNOWN) {
    const text = nonEmpty(env[variable])
    if (text === null) continue
    overrides.push({ variable, path, text: variable === 'LOG_LEVEL' ? text.toLowerCase() : text, interpolates: false })
  }
  // Sorted, so that the first item of a list comes before the second in any order of the environment.
  for (const variable of Object.keys(env).sort(byNumberThenText)) {
    const text = variable.startsWith(GENERAL_PREFIX) ? nonEmpty(env[variable]) : null
    if (text !== null) overrides.push({ variable, path: pathOf(variable), text, interpolates: true })
  }
  return {
    overrides,
    configFile: nonEmpty(env['SLUICE_CONFIG']),
    secrets: { keyHash: nonEmpty(env['SLUICE_SECRET_KEY_HASH']), jwt: nonEmpty(env['SLUICE_SECRET_JWT']) },
    variables: env,
  }
}

function pathOf(variable: string): Path {
  return variable
    .slice(GENERAL_PREFIX.length)
    .toLowerCase()
    .split('__')
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step))
}

function byNumberThenText(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}

function nonEmpty(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text
}
