import type { Config } from '../shared/config/shape.ts'

interface Setup {
  readonly type: 'setup'
  readonly config: Config
  /** Unix socket between fronts and the control process. */
  readonly socketPath: string
  /** The child ran before and ended: the rest of the gateway is up. */
  readonly isRestart: boolean
}

/** The first message to a front. It has no secrets: a front reads them from the data directory, as the control process does. */
export interface FrontSetup extends Setup {
  /** Unique among the fronts on this data directory. */
  readonly index: number
  /** The port that all fronts listen on. */
  readonly port: number
}

export interface ControlSetup extends Setup {
  /** Number of fronts of the gateways that are about to end and hand over to this one. */
  readonly handedOverFronts: number
  /** Null: the simulator is off. */
  readonly simulatorPort: number | null
  /** URL of the gateway for a user on this machine. */
  readonly displayUrl: string
}

/** `stop`: the gateway ends. `hand-over`: another gateway takes over. `orphaned`: the supervisor is gone. */
export type EndReason = 'stop' | 'hand-over' | 'orphaned'

export type ToChild =
  | FrontSetup
  | ControlSetup
  /** The gateway is about to end: serve new requests, and announce the end. */
  | { readonly type: 'leave' }
  | { readonly type: 'drain'; readonly reason: EndReason }
  /** Asks whether the child can take the configuration, or to take it. The child answers with `configured`. */
  | Reconfigure
  /** The prepared configuration does not come. */
  | { readonly type: 'discard' }

export type Reconfigure =
  | ({ readonly type: 'prepare'; readonly id: number } & ConfigChange)
  | ({ readonly type: 'apply'; readonly id: number } & ConfigChange)

/** A configuration that was read again. */
export interface ConfigChange {
  readonly config: Config
  /** Whether the files of the certificate have another content, or are other files. */
  readonly isNewCertificate: boolean
}

export type ControlNews = 'waiting' | 'sole'

export type FromChild =
  | {
      readonly type: 'ready'
      readonly firstRun?: FirstRun
      readonly port?: number
      /** Name and version of the HTTP server that a front runs on. */
      readonly httpServer?: string
    }
  /** The control process is loaded and waits for the control process of another gateway to end. */
  | { readonly type: 'waiting' }
  /** No other control process runs on this data directory. */
  | { readonly type: 'sole' }
  /** The child ends, and a restart cannot help. */
  | { readonly type: 'fatal'; readonly message: string }
  /** Answers `prepare` and `apply`. @member problem null: it is done */
  | { readonly type: 'configured'; readonly id: number; readonly problem: string | null }

/** The accounts that the first start creates; shown once. */
export interface FirstRun {
  readonly base_url: string
  readonly api_key: string
  readonly admin: { readonly phone: string; readonly password: string }
}
