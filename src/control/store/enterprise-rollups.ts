import { ALL_ENTERPRISES } from './daily-rollups.ts'
import type { PreparedStatement, Queryable } from './database.ts'
import { inLockOrder } from './lock-order.ts'
import { addSums, negate, noSums, SUM_COLUMNS } from './rollup-sums.ts'
import type { Sums } from './rollup-sums.ts'

/** The values that all rows of one row of the sums share. */
interface EnterpriseHourKey {
  readonly enterpriseId: string
  readonly hourMs: number
  readonly model: string
  readonly endpoint: string
  readonly status: number
  readonly providerId: string
  readonly upstreamKeyId: string
}

interface EnterpriseHour extends EnterpriseHourKey {
  readonly sums: Sums
}

/** The values of KEY_COLUMNS, in their order. */
const KEY_MEMBERS = ['enterpriseId', 'hourMs', 'model', 'endpoint', 'status', 'providerId', 'upstreamKeyId'] as const
const KEY_COLUMNS = ['enterprise_id', 'hour', 'model', 'endpoint', 'status', 'provider_id', 'upstream_key_id']
const KEY_TYPES = ['text', 'float8', 'text', 'text', 'int4', 'text', 'text']
const COLUMNS = [...KEY_COLUMNS, ...SUM_COLUMNS]
const TYPES = [...KEY_TYPES, ...SUM_COLUMNS.map(() => 'int8')]

const ADD: PreparedStatement = {
  name: 'rollup-add-enterprises',
  text: `INSERT INTO enterprise_rollup_hourly AS r (${COLUMNS.join(', ')})
    SELECT ${COLUMNS.map((column) => (column === 'hour' ? 'to_timestamp(t.hour / 1000)' : `t.${column}`)).join(', ')}
    FROM unnest(${TYPES.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) AS t (${COLUMNS.join(', ')})
    ON CONFLICT (${KEY_COLUMNS.join(', ')})
    DO UPDATE SET ${SUM_COLUMNS.map((column) => `${column} = r.${column} + excluded.${column}`).join(', ')}`,
}

/** Hourly sums of an enterprise, and of all requests, by model and upstream: pages of many days need no sums of single keys. */
export class EnterpriseRollups {
  /** By enterprise and model: each pair has only a few. */
  readonly #hours = new Map<string, Map<string, EnterpriseHour[]>>()

  /** Returns the sums to which a row belongs. */
  sumsOf(key: EnterpriseHourKey): Sums {
    let models = this.#hours.get(key.enterpriseId)
    if (models === undefined) this.#hours.set(key.enterpriseId, (models = new Map<string, EnterpriseHour[]>()))
    let among = models.get(key.model)
    if (among === undefined) models.set(key.model, (among = []))
    let hour = among.find((one) => isOf(one, key))
    if (hour === undefined) among.push((hour = { ...key, sums: noSums() }))
    return hour.sums
  }

  negate(): void {
    for (const { sums } of this.#list()) negate(sums)
  }

  async addTo(queryable: Queryable): Promise<void> {
    const hours = this.#list()
    if (hours.length === 0) return
    const all = new EnterpriseRollups()
    for (const hour of hours) addSums(all.sumsOf({ ...keyOf(hour), enterpriseId: ALL_ENTERPRISES }), hour.sums)
    const rows = inLockOrder([...hours, ...all.#list()].map((hour) => [nameOf(hour), hour]))
    await queryable.query(ADD, [
      ...KEY_MEMBERS.map((member) => rows.map((row) => row[member])),
      ...SUM_COLUMNS.map((column) => rows.map(({ sums }) => sums[column])),
    ])
  }

  #list(): EnterpriseHour[] {
    return [...this.#hours.values()].flatMap((models) => [...models.values()].flat())
  }
}

function keyOf({ sums: _, ...key }: EnterpriseHour): EnterpriseHourKey {
  return key
}

function isOf(hour: EnterpriseHour, key: EnterpriseHourKey): boolean {
  return (
    hour.hourMs === key.hourMs &&
    hour.status === key.status &&
    hour.upstreamKeyId === key.upstreamKeyId &&
    hour.endpoint === key.endpoint &&
    hour.providerId === key.providerId
  )
}

function nameOf(key: EnterpriseHourKey): string {
  return KEY_MEMBERS.map((member) => key[member]).join('\0')
}
