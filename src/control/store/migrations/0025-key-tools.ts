import type { Migration } from '../migration.ts'

/** The tools that a key may use at /mcp; null: none. */
export const keyTools: Migration = {
  id: '0025-key-tools',
  sql: 'ALTER TABLE entry_keys ADD COLUMN mcp_tools text[]',
}
