import type { Migration } from '../migration.ts'

/**
 * The servers whose tools were listed at least once. Tools leave no row when no admin allows them and their server lists them no more,
 * so that rows of `server_tools` do not tell a first list.
 */
export const listedToolServers: Migration = {
  id: '0032-listed-tool-servers',
  sql: `
CREATE TABLE listed_tool_servers (
  server_id text PRIMARY KEY
);
INSERT INTO listed_tool_servers SELECT DISTINCT server_id FROM server_tools;
`,
}
