import type { Migration } from '../migration.ts'

/** The OpenAPI documents of tool servers that are HTTP APIs: too large for the list of servers, which is read all the time. */
export const toolServerDocuments: Migration = {
  id: '0029-tool-server-documents',
  sql: `
CREATE TABLE tool_server_documents (
  server_id text PRIMARY KEY REFERENCES tool_servers (id) ON DELETE CASCADE,
  document text NOT NULL
);
`,
}
