import { setTimeout as delay } from 'node:timers/promises'
import { GatewayError } from '../../../shared/core/errors.ts'
import type { ToolServer } from '../../../shared/core/tool-server.ts'
import type { McpCaller } from '../callers.ts'
import type { ToolCall } from '../tool-source.ts'
import type { Grants } from './grants.ts'

/** People take this long to authorise the gateway. */
const CONSENT_MS = 300_000
const LOOK_MS = 1_000

/**
 * The user as whom a call is made; null: the server has no OAuth. A user without a grant is led to the page that gets one: by a question
 * where the client can open it, otherwise by the error AUTHORIZATION_NEEDED.
 */
export async function connectedUser(
  grants: Grants,
  { caller, client, signal }: ToolCall,
  server: ToolServer,
): Promise<string | null> {
  if (server.oauth === null) return null
  const userId = userOf(caller)
  if (userId === null) {
    const message = `The tool server ${server.id} needs the authorisation of a user, and this API key is not a user's own.`
    throw new GatewayError('TOOLS_DENIED', { message })
  }
  if (await grants.has(server, userId)) return userId
  const url = grants.connectUrl(server)
  const open = client?.open ?? null
  const message = `[${server.id}] This tool server needs your authorisation.`
  if (url === null || open === null || !(await open({ url, message }, signal))) throw grants.needed(server)
  await untilGranted(() => grants.has(server, userId), signal)
  if (!(await grants.has(server, userId))) throw grants.needed(server)
  return userId
}

/** Throws TOOLS_DENIED when the server shows a user a tool otherwise than an admin has allowed it. */
export function refuseOtherDefinition(seen: string | undefined, allowed: string): void {
  if (seen === allowed) return
  const message =
    seen === undefined
      ? 'The server does not offer this tool to you.'
      : 'The server shows you this tool otherwise than an admin has allowed it. An admin has to list its tools again.'
  throw new GatewayError('TOOLS_DENIED', { message })
}

/** The user whose grants a caller may use. Several people know a key of an enterprise: it has none. */
function userOf(caller: McpCaller): string | null {
  if (caller.kind === 'user') return caller.user.userId
  return caller.key.enterpriseId === null ? caller.key.userId : null
}

/** Waits until the user is back from the page, for as long as the client does, and at most for some minutes. */
async function untilGranted(isGranted: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  const untilMs = performance.now() + CONSENT_MS
  while (performance.now() < untilMs && !(await isGranted())) {
    await delay(LOOK_MS, undefined, { signal }).catch(() => {
      throw new GatewayError('CLIENT_CLOSED')
    })
  }
}
