import type { Queryable } from './database.ts'

/** Returns the value, or undefined when it was never set. */
export async function readSetting(queryable: Queryable, key: string): Promise<unknown> {
  const [row] = await queryable.query<{ value: unknown }>('SELECT value FROM settings WHERE key = $1', [key])
  return row?.value
}

/** `value` may be any JSON value. */
export async function writeSetting(queryable: Queryable, key: string, value: unknown): Promise<void> {
  await queryable.query(
    'INSERT INTO settings (key, value) VALUES ($1, $2::jsonb) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    [key, JSON.stringify(value)],
  )
}

/** Sets the value if there is none, and resolves to the stored value, so that two nodes that start together agree. */
export async function initialiseSetting(queryable: Queryable, key: string, value: unknown): Promise<unknown> {
  await queryable.query('INSERT INTO settings (key, value) VALUES ($1, $2::jsonb) ON CONFLICT DO NOTHING', [
    key,
    JSON.stringify(value),
  ])
  return readSetting(queryable, key)
}
