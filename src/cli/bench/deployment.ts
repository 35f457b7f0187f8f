import { SluiceClient } from '../../client/client.ts'
import { ApiError, AuthenticationError } from '../../client/errors.ts'
import { UsageError } from '../../shared/config/config-error.ts'
import { StoredLogins } from '../stored-logins.ts'
import type { BenchSettings } from './options.ts'
import { Rows } from './rows.ts'
import type { Target } from './target.ts'

const TOKEN = 'SLUICE_TOKEN'
/**
 * The beginnings of the owners and of the names of the built-in simulator's models. A model of another name may have a provider's model behind
 * it that costs money: the owner is that of the first one alone.
 */
const SIMULATOR = 'simulator'
const SIMULATED_MODEL = 'sim-'
const TIMEOUT_MS = 10_000

/** A gateway that runs already. Rejects with UsageError when key or model are of no use. */
export async function openDeployment(settings: BenchSettings): Promise<Target> {
  const { url, key, model, pid, keys } = settings
  if (url === null || key === null || model === null) throw new Error('a deployment needs a URL, a key and a model')
  const client = new SluiceClient({ baseUrl: url, apiKey: key, timeoutMs: TIMEOUT_MS, maxRetries: 0 })
  const entry = await client.models.get(model).catch((cause: unknown) => {
    if (cause instanceof AuthenticationError) throw new UsageError(`--key is refused by ${url}: ${cause.message}`)
    if (cause instanceof ApiError && cause.statusCode === 404) {
      throw new UsageError(`--model ${model} is none that the key may use: GET ${url}/v1/models lists them`)
    }
    throw cause instanceof Error ? new Error(`--url ${url} does not answer as a gateway: ${cause.message}`) : cause
  })
  return {
    kind: 'deployment',
    url,
    key,
    model,
    isSimulated: entry.owned_by.startsWith(SIMULATOR) && model.startsWith(SIMULATED_MODEL),
    pid,
    rows: await rowsOf(url),
    keys,
    laboratory: null,
    stop: () => Promise.resolve(),
  }
}

/** The request log, with the token in SLUICE_TOKEN or with that of `sluice login`; null: there is none, or it has expired. */
async function rowsOf(url: string): Promise<Rows | null> {
  const variable = process.env[TOKEN]
  const token = variable === undefined || variable === '' ? new StoredLogins(process.env).find(url)?.token : variable
  if (token === undefined) return null
  try {
    return await Rows.open(new SluiceClient({ baseUrl: url, token, timeoutMs: TIMEOUT_MS }))
  } catch (cause) {
    if (cause instanceof ApiError && cause.statusCode === 401) return null
    throw cause
  }
}
