import type { EnterpriseRole } from '../api/roles.ts'

/** Ids of upstream servers of tools. They have no underscore: `<id>__<tool>` has one meaning. */
export const SERVER_ID = '^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$'

/** The name that chats give to the gateway's own tools. No upstream server has it as its id. */
export const OWN_SERVER = 'sluice'

/** `openapi`: no tool server, but an HTTP API, whose operations are the tools. */
export type ToolServerTransport = 'http' | 'sse' | 'openapi'

/** A rule that admits users of a server: all that is given must hold. An empty rule holds for nobody. */
export interface ToolAccessRule {
  readonly everyone?: true
  readonly role?: EnterpriseRole
  readonly enterpriseId?: string
  /** The department, and those below it. */
  readonly departmentId?: string
  readonly keyId?: string
}

/** A program that speaks the protocol over its standard input and output. Only the configuration file names programs. */
export interface ToolServerProgram {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
}

export interface ToolServerSettings {
  /** Longest time of a call. */
  readonly timeoutMs: number
  /** Price of a call. */
  readonly priceMicro: number
  readonly enabled: boolean
  /** The users of it besides platform admins. */
  readonly access: readonly ToolAccessRule[]
  /** Allows the tools that it has when they are listed first. */
  readonly allowAllTools: boolean
  /** Its calls may ask the caller for input, and for answers of models. */
  readonly isInteractive: boolean
  /** The model that answers in place of callers whose client has none; null: none does. */
  readonly samplingModel: string | null
  /** Null: all callers share its headers. */
  readonly oauth: ToolServerOAuth | null
}

/** Each user authorises the gateway at the server by OAuth, and calls it with the token of that grant. */
export interface ToolServerOAuth {
  /** The client that an admin has registered there; null: the gateway registers itself. */
  readonly clientId: string | null
  /** The scopes to ask for; empty: those that the server names. */
  readonly scopes: readonly string[]
}

/** An operation of an HTTP API that no tool can be made of. */
export interface LeftOutOperation {
  readonly operation: string
  readonly reason: string
}

export interface ToolServerAddress {
  readonly url: string
  readonly transport: ToolServerTransport
  /** Of a server with the transport `openapi`: what tells its document from others, and what cannot be a tool. */
  readonly document?: { readonly digest: string; readonly leftOut: readonly LeftOutOperation[] }
}

/** An upstream server of tools. */
export interface ToolServer extends ToolServerSettings {
  readonly id: string
  /** An address, or a program. */
  readonly place: ToolServerAddress | ToolServerProgram
  /** Headers of each request, with lower-case names; null: they were sealed with another secret. */
  readonly headers: Readonly<Record<string, string>> | null
  /** The secret of the client of `oauth`; null: it has none. */
  readonly clientSecret: string | null
  readonly source: 'file' | 'stored'
}

/** A tool as its server defines it. */
export interface ToolDefinition {
  readonly name: string
  readonly title: string | null
  readonly description: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly outputSchema: Readonly<Record<string, unknown>> | null
  readonly annotations: Readonly<Record<string, unknown>>
}

/** A tool of a server, as allowed and as seen last. */
export interface ServerTool {
  readonly serverId: string
  readonly name: string
  /** Null: no admin has allowed it. */
  readonly allowed: ToolDefinition | null
  readonly allowedDigest: string | null
  /** Null: the server does not have it any more. */
  readonly seen: ToolDefinition | null
  readonly seenDigest: string | null
  readonly changedAt: Date
}

/** `held`: it has changed since an admin allowed it. `waiting`: no admin has allowed it yet. `gone`: the server has it no more. */
export type ServerToolState = 'allowed' | 'held' | 'waiting' | 'gone'

export function stateOfTool({ allowedDigest, seenDigest }: ServerTool): ServerToolState {
  if (seenDigest === null) return 'gone'
  if (allowedDigest === null) return 'waiting'
  return allowedDigest === seenDigest ? 'allowed' : 'held'
}
