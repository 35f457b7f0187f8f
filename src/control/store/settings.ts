import type { Queryable } from './database.ts'

/** The value as it was set, or undefined when it never was. */
export async function readSetting(queryable: Queryable, key: string): Promise<unknown> {
  const [row] = await queryable.query<{ value: unknown }>('SELECT value FROM settings WHERE key = $1', [key])
  return row?.value
}

/** `value` is anything JSON can hold. */
export async function writeSetting(queryable: Queryable, key: string, value: unknown): Promise<void> {
  await queryable.query(
    'INSERT INTO settings (key, value) VALUES ($1, $2::jsonb) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    [key, JSON.stringify(value)],
  )
}

/** Sets the value unless there is one, and resolves to the one there is: two nodes that start together agree. */
export async function initialiseSetting(queryable: Queryable, key: string, value: unknown): Promise<unknown> {
  await queryable.query('INSERT INTO settings (key, value) VALUES ($1, $2::jsonb) ON CONFLICT DO NOTHING', [
    key,
    JSON.stringify(value),
  ])
  return readSetting(queryable, key)
}
