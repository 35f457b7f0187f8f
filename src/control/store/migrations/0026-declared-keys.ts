import type { Migration } from '../migration.ts'

/** The nodes whose configuration declares an entry key. */
export const declaredKeys: Migration = {
  id: '0026-declared-keys',
  sql: `
ALTER TABLE entry_keys ADD COLUMN declared_by text[] NOT NULL DEFAULT '{}';
`,
}
