import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** Creates an empty database on the server of `url` and returns its URL. */
export async function createTestDatabase(url: string): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${name}`)
  } finally {
    await client.end()
  }
  const made = new URL(url)
  made.pathname = `/${name}`
  return made.toString()
}
