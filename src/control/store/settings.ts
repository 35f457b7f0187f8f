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

/** The number of entries that admins have stored, by the key of the configuration that has the others. */
export async function countStoredEntries(queryable: Queryable): Promise<ReadonlyMap<string, number>> {
  const [row] = await queryable.query<Record<string, number>>(
    `SELECT (SELECT count(*)::int4 FROM upstreams) AS upstreams, (SELECT count(*)::int4 FROM model_entries) AS models,
      (SELECT count(*)::int4 FROM model_groups) AS model_groups, (SELECT count(*)::int4 FROM tool_servers) AS "mcp.servers"`,
  )
  return new Map(Object.entries(row ?? {}))
}
