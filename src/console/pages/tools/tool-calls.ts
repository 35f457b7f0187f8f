import type { ItemOf, RequestOf } from '../../../client/index.ts'
import { refresh } from '../../api/queries.ts'
import { call } from '../../api/session.ts'

export type ToolServer = ItemOf<'adminListToolServers'>
export type ServerTool = ItemOf<'adminListServerTools'>
export type Definition = NonNullable<ServerTool['newest']>
type NewToolServer = RequestOf<'adminCreateToolServer'>['body']
export type ToolServerChange = NonNullable<RequestOf<'adminUpdateToolServer'>['body']>

function refreshServers(): Promise<unknown> {
  return refresh('adminListToolServers', 'adminGetToolServer', 'adminListServerTools')
}

export async function createServer(body: NewToolServer): Promise<void> {
  await call('adminCreateToolServer', { body })
  await refreshServers()
}

export async function changeServer(id: string, body: ToolServerChange, etag: string | null): Promise<void> {
  await call('adminUpdateToolServer', { params: { id }, body }, etag === null ? {} : { ifMatch: etag })
  await refreshServers()
}

export async function deleteServer(id: string): Promise<void> {
  await call('adminDeleteToolServer', { params: { id } })
  await refreshServers()
}

/** Lists the tools of the server again; those that have changed are held. */
export async function rereadServer(id: string): Promise<void> {
  await call('adminRefreshToolServer', { params: { id } })
  await refreshServers()
}

/** Allows the tool as it was shown: one that has changed since is not allowed. */
export async function allowTool(id: string, serverTool: string, digest: string): Promise<void> {
  await call('adminDecideServerTools', {
    params: { id },
    body: { allow: [{ server_tool: serverTool, digest }] },
  })
  await refreshServers()
}

export async function denyTool(id: string, serverTool: string): Promise<void> {
  await call('adminDecideServerTools', { params: { id }, body: { deny: [serverTool] } })
  await refreshServers()
}
